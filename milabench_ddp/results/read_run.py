"""Reads a run folder, of milabench or of ours, finished, running or cut off, into a `Run`."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import RunDirError, did_you_mean, shown_names
from .columns import Scratch
from .defects import DefectKind, FileDefect
from .read import read_events
from .read_state import read_state, refuse_newer
from .records import Record, Run
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
    records = _records(files)
    for record in records:
        refuse_newer(record.path, record.config.get("schema"), SCHEMA)
    defects += [defect for record in records for defect in record.defects]
    counting = tuple(record for record in records if not record.has(*DO_NOT_COUNT))
    return Run(path, state, counting, tuple(defects))


def _records(files: Sequence[Path]) -> list[Record]:
    """The records of files; their numbers are in memory only where there are few."""
    records, scratch = [], Scratch()
    for file in files:
        records.append(read_events(file))
        with suppress(OSError):  # no file can be written: they stay in memory
            records[-1].move_to(scratch)
    return records


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
    files = [name for name in names if name.suffix == ".data" and not _holds_state(name)]
    if not files and not (path / "run.json").is_file():
        raise RunDirError(_not_a_run(path, names))
    return files


def _holds_state(path: Path) -> bool:
    return RunDir(path.parent).state_json(path.name).exists()


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
