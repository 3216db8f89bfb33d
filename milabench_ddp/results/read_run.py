"""A run folder -> a `Run`: ours or milabench's, finished, still going on, or cut off."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RunDirError, did_you_mean
from ..events import Outcome
from .points import NAME as POINT
from .points import read_point
from .read_events import read_events
from .read_state import read_state
from .records import DefectKind, FileDefect, Run
from .run_dir import RunDir, is_alive

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
        RunDirError: there is no such folder, or it is not that of a run.
    """
    files = _data_files(path)
    defects: list[FileDefect] = []

    def on_defect(path: Path, error: OSError | ValueError) -> None:
        kind = DefectKind.UNREADABLE if isinstance(error, OSError) else DefectKind.BAD_STATE
        defects.append(FileDefect(path, kind, detail=getattr(error, "strerror", "") or str(error)))

    state = read_state(RunDir(path), on_defect)
    records = [read_events(file) for file in files]
    defects += [defect for record in records for defect in record.defects]
    counting = tuple(record for record in records if not record.has(*DO_NOT_COUNT))
    return Run(path, state, counting, tuple(defects))


def read_states(path: Path) -> Mapping[str, Any]:
    """What is known of a run and of each of its benchmarks, without what was measured."""
    return _settled(_read_state(path / "run.json", []), path, [])


def _settled(state: Mapping[str, Any], path: Path, defects: list[FileDefect]) -> Mapping[str, Any]:
    """The state with what each benchmark's own file says, and with what became of those who led.

    A benchmark that says it runs, and that nobody is alive to go on with, is lost; so is the run,
    unless a cluster's scheduler still has jobs of it.
    """
    if not state:
        return state
    listed = state.get("benchmarks")
    entries = [
        _point(path, entry, defects) if isinstance(entry, dict) else entry
        for entry in (listed if isinstance(listed, list) else [])
    ]
    state = {**state, "benchmarks": entries}
    if state.get("outcome") is not None or is_alive(path):
        return state
    outcomes = [entry.get("outcome") for entry in entries if isinstance(entry, dict)]
    jobs = state.get("jobs") or []
    if "running" in outcomes or (
        any(not job.get("state") for job in jobs) and "waiting" in outcomes
    ):
        return state
    return {**state, "outcome": Outcome.LOST}


def _point(path: Path, entry: Mapping[str, Any], defects: list[FileDefect]) -> Mapping[str, Any]:
    folder = path / str(entry.get("name"))
    try:
        own = read_point(folder)
    except (OSError, ValueError, TypeError):
        defects.append(FileDefect(folder / POINT, DefectKind.UNREADABLE))
        own = None
    if own is not None:
        return {**entry, **own}
    if entry.get("outcome") == "running" and not is_alive(path):
        return {**entry, "outcome": Outcome.LOST, "reason": "the run was cut off"}
    return entry


def _data_files(path: Path) -> list[Path]:
    try:
        names = sorted(path.iterdir())
    except FileNotFoundError:
        raise RunDirError(_not_there(path)) from None
    except NotADirectoryError:
        raise RunDirError(f"{path} is a file: name the folder of the run, {path.parent}") from None
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    files = [name for name in names if name.suffix == ".data" and name.is_file()]
    if not files and not (path / "run.json").is_file():
        raise RunDirError(_not_a_run(path, names))
    return files


def _not_there(path: Path) -> str:
    for folder in (path.parent, path.parent / "runs"):
        runs = _runs_in(folder)
        if path.name in runs:
            return f"no run folder {path}: did you mean `{folder / path.name}`?"
        if hint := did_you_mean(path.name, runs):
            return f"no run folder {path}{hint}"
    runs = _runs_in(path.parent)
    there = f"; {path.parent} has {_some(runs)}" if runs else ""
    return f"no run folder {path}{there}"


def _not_a_run(path: Path, names: list[Path]) -> str:
    what = f"{path} is no run folder: it has neither a run.json nor .data files"
    for folder in (path, path / "runs"):
        if runs := _runs_in(folder):
            return f"{what}, but it holds runs: name one of {_some(runs, folder)}"
    return f"{what}, it is empty" if not names else what


def _runs_in(folder: Path) -> list[str]:
    try:
        return sorted(
            sub.name
            for sub in folder.iterdir()
            if (sub / "run.json").is_file() or any(sub.glob("*.data"))
        )
    except OSError:
        return []


def _some(runs: list[str], folder: Path = Path()) -> str:
    shown = ", ".join(str(folder / name) for name in runs[:5])
    return f"{shown} and {len(runs) - 5} more" if len(runs) > 5 else shown


def _read_state(path: Path, defects: list[FileDefect]) -> Mapping[str, Any]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        defects.append(FileDefect(path, DefectKind.UNREADABLE, detail=error.strerror or str(error)))
        return {}
    if not text:  # a run that has only just been made
        return {}
    try:
        state = json.loads(text.decode())
    except ValueError:
        defects.append(FileDefect(path, DefectKind.NOT_JSON))
        return {}
    if not isinstance(state, dict):
        defects.append(FileDefect(path, DefectKind.NOT_OBJECT))
        return {}
    return state
