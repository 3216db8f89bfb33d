"""Reads a run folder, of milabench or of ours, finished, running or cut off, into a `Run`.

It is found by what a person names: a folder, a folder that holds runs, or a glob.
"""

from collections.abc import Iterable
from contextlib import suppress
from glob import glob, has_magic
from pathlib import Path

from ..errors import RunDirError, did_you_mean, shown_names
from .columns import Scratch
from .defects import DefectKind, FileDefect
from .read import read_events
from .read_state import read_state, refuse_newer
from .records import Run
from .run_dir import RunDir
from .write import SCHEMA

DO_NOT_COUNT = (
    DefectKind.UNREADABLE,
    DefectKind.EMPTY,
    DefectKind.NO_CONFIG,
    DefectKind.NO_NAME,
    DefectKind.LAUNCHER,
)


def read_run(path: Path) -> Run:
    """Read a run folder.

    Raises:
        RunDirError: there is no such folder, it is not a run folder, or a newer milabench wrote it.
    """
    files = _data_files(path)
    defects: list[FileDefect] = []

    def on_defect(path: Path, error: OSError | ValueError) -> None:
        kind = DefectKind.UNREADABLE if isinstance(error, OSError) else DefectKind.BAD_STATE
        defects.append(FileDefect(path, kind, detail=getattr(error, "strerror", "") or str(error)))

    state = read_state(RunDir(path), on_defect)
    records, scratch = [], Scratch()
    for file in files:
        record = read_events(file)
        with suppress(OSError):  # no file can be written: its numbers stay in memory
            record.move_to(scratch)
        records.append(record)
        refuse_newer(record.path, record.config.get("schema"), SCHEMA)
    defects += [defect for record in records for defect in record.defects]
    counting = tuple(record for record in records if not record.has(*DO_NOT_COUNT))
    return Run(path, state, counting, tuple(defects))


def existing(name: str) -> RunDir:
    """The folder of a run, by the name that a user gave.

    Raises:
        RunDirError: there is no such folder.
    """
    path = Path(name)
    if not path.exists():
        raise RunDirError(_not_there(path))
    return RunDir(path.absolute())


def _data_files(path: Path) -> list[Path]:
    try:
        names = sorted(path.iterdir())
    except FileNotFoundError:
        raise RunDirError(_not_there(path)) from None
    except NotADirectoryError:
        raise RunDirError(f"{path} is a file: name the run folder, {path.parent}") from None
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    # also what is no file, which is then told; but not the folder of a benchmark of such a name
    files = [
        name for name in names if name.suffix == ".data" and not (name / "state.json").exists()
    ]
    if not files and not (path / "run.json").is_file():
        raise RunDirError(_not_a_run(path, names))
    return files


def _not_there(path: Path) -> str:
    for folder in (path.parent, path.parent / "runs"):
        runs = runs_in(folder)
        if path.name in runs:
            return f"no run folder {path}: did you mean `{folder / path.name}`?"
        if hint := did_you_mean(path.name, runs):
            return f"no run folder {path}{hint}"
    runs = runs_in(path.parent)
    there = f"; {path.parent} has {_some(runs)}" if runs else ""
    return f"no run folder {path}{there}"


def _not_a_run(path: Path, names: list[Path]) -> str:
    what = f"{path} is not a run folder: it has neither a run.json nor .data files"
    for folder in (path, path / "runs"):
        if runs := runs_in(folder):
            return f"{what}, but it holds runs: name one of {_some(runs, folder)}"
    return f"{what}; it is empty" if not names else what


def is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file() or any(folder.glob("*.data"))


def runs_in(folder: Path) -> list[str]:
    """The names of the runs in a folder; none if it cannot be read."""
    try:
        return sorted(sub.name for sub in folder.iterdir() if is_run(sub))
    except OSError:
        return []


def _some(runs: list[str], folder: Path = Path()) -> str:
    return shown_names([str(folder / name) for name in runs], 5)


def run_folders(words: Iterable[str | Path]) -> list[Path]:
    """The folders that these words name, in their order; those of a glob or a folder by name.

    A folder that is no run itself stands for the runs in it, or in its ``runs/``. What does not
    exist, or holds no run, is left to the reader of runs, which says so.

    Raises:
        RunDirError: no run folder matches a glob.
    """
    found: list[Path] = []
    for word in words:
        path = Path(word)
        if path.exists() or not has_magic(str(word)):
            found += _held(path) or [path]
            continue
        matched: list[Path] = []
        for name in sorted(glob(str(word))):  # noqa: PTH207 - Path.glob takes no absolute pattern
            matched += _held(Path(name))
        if not matched:
            raise RunDirError(f"no run folder matches {word}")
        found += matched
    return list(dict.fromkeys(found))


def _held(path: Path) -> list[Path]:
    """The folder itself if it is a run, else the runs in it; empty without any."""
    if is_run(path):
        return [path]
    for folder in (path, path / "runs"):
        if names := runs_in(folder):
            return [folder / name for name in names]
    return []
