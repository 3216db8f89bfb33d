"""Reads a run folder, of milabench or of ours, finished, running or cut off, into a `Run`."""

from contextlib import suppress
from pathlib import Path

from ..errors import RunDirError
from .columns import Scratch
from .defects import DefectKind, FileDefect
from .find_run import not_a_run, not_there
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


def _data_files(path: Path) -> list[Path]:
    try:
        names = sorted(path.iterdir())
    except FileNotFoundError:
        raise RunDirError(not_there(path)) from None
    except NotADirectoryError:
        raise RunDirError(f"{path} is a file: name the run folder, {path.parent}") from None
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    # also what is no file, which is then told; but not the folder of a benchmark of such a name
    files = [
        name for name in names if name.suffix == ".data" and not (name / "state.json").exists()
    ]
    if not files and not (path / "run.json").is_file():
        raise RunDirError(not_a_run(path))
    return files
