"""The state of a run from its folder: ``run.json`` and each benchmark's ``state.json``.

Schema 1 is read, too. A benchmark whose status is ``running`` is lost if no process holds its lock.
Its run is then lost, too, unless the cluster's scheduler still has jobs for it. A benchmark that
waits in a run that has ended will never begin: it is cancelled with its run, or not begun.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..codec import convert, read_record, refuse
from ..config.schema import SkipKind
from ..errors import RunDirError
from ..events import Outcome, Status
from .defects import OnDefect, ignore, read_unless_damaged
from .isolation import read_isolation
from .lock import is_alive
from .node_state import read_nodes
from .run_dir import RunDir, names_a_file
from .state import SCHEMA, BenchmarkState, RunHeader, RunState, overall

CUT_OFF = "the run was cut off"
DAMAGED = "its state cannot be read"
NEVER_BEGAN = "the run ended before it began"
GONE = "its state is missing, though it began"


def refuse_newer(path: Path, schema: object, known: int) -> None:
    if isinstance(schema, int) and schema > known:
        raise RunDirError(
            f"{path} was written by a newer milabench: its schema is {schema}, and this version "
            f"reads up to {known}"
        )


def require_state(run: RunDir) -> RunState:
    """The state of a run that this program started; a benchmark whose state is damaged is lost."""

    def on_defect(path: Path, error: OSError | ValueError) -> None:
        if path == run.run_json:
            refuse(path, error)

    state = read_state(run, on_defect)
    if state is None:
        raise RunDirError(f"cannot read {run.run_json}: No such file or directory")
    return state


def read_state(run: RunDir, on_defect: OnDefect) -> RunState | None:
    """The state of a run; None if ``run.json`` is missing or cannot be read.

    Raises:
        RunDirError: a newer milabench wrote it.
    """
    raw = read_unless_damaged(run.run_json, dict[str, Any], on_defect)
    if not raw:
        return None
    refuse_newer(run.run_json, raw.get("schema"), SCHEMA)
    try:
        header = convert(_upgraded_header(raw), RunHeader)
    except ValueError as error:
        on_defect(run.run_json, error)
        return None
    listed = {str(entry.get("name")): entry for entry in _objects(raw.get("benchmarks"))}
    benchmarks = {}
    for name in [name for name in listed or header.suite if not names_a_file(name)]:
        on_defect(run.run_json, ValueError(f"`{name[:40]}` cannot name a benchmark"))
        header.suite.pop(name, None)
        listed.pop(name, None)
    for name in listed or header.suite:
        benchmarks[name] = _benchmark(run, name, listed.get(name), on_defect)
    for name, reason in header.unwritten.items():
        if name in benchmarks and benchmarks[name].ended is None:
            benchmarks[name] = BenchmarkState(name, Status.FAILED, reason, interrupted=True)
    found = {name: read_isolation(run, name, on_defect) for name in benchmarks}
    isolations = {name: isolation for name, isolation in found.items() if isolation}
    state = RunState(header, benchmarks, read_nodes(run, on_defect), isolations)
    _settle(run, state)
    return state


def read_header(run: RunDir) -> RunHeader:
    """The header of a run that this program started, as it stands on disk.

    Raises:
        RunDirError: there is no ``run.json``, it is damaged, or a newer milabench wrote it.
    """
    header = read_record(run.run_json, RunHeader)
    refuse_newer(run.run_json, header.schema, SCHEMA)
    return header


def read_benchmark(run: RunDir, name: str, on_defect: OnDefect = ignore) -> BenchmarkState | None:
    """The state in a benchmark's own file; None if the file does not exist yet, or is damaged."""
    path = run.state_json(name)
    raw = read_unless_damaged(path, dict[str, Any], on_defect)
    return None if raw is None else _checked(raw, path, run.benchmark(name), on_defect)


def _benchmark(
    run: RunDir, name: str, listed: Mapping[str, object] | None, on_defect: OnDefect
) -> BenchmarkState:
    own = read_benchmark(run, name, on_defect)
    if own is None and listed is not None:
        own = _checked(listed, run.run_json, run.path, on_defect)
    if own is None and run.state_json(name).exists():
        return BenchmarkState(name, Status.LOST, DAMAGED)
    return own or BenchmarkState(name)


def _checked(
    raw: Mapping[str, object], path: Path, lock: Path, on_defect: OnDefect
) -> BenchmarkState | None:
    """The record; a running benchmark is lost if no process holds its lock."""
    try:
        state = convert(_renamed(raw, outcome="status", cut_short="interrupted"), BenchmarkState)
    except ValueError as error:
        on_defect(path, error)
        return None
    if state.status is Status.RUNNING and not is_alive(lock):
        state.status, state.reason = Status.LOST, CUT_OFF
    return state


def _settle(run: RunDir, whole: RunState) -> None:
    """Set the outcome to lost if no process and no job can continue the run.

    A job that is not known to have ended may continue it until all results are final.
    """
    header = whole.header
    if header.outcome is None and not is_alive(run.path):
        has_open_jobs = any(not job.state for job in header.jobs)
        found = {state.status for state in whole.benchmarks.values()}
        if Status.RUNNING not in found and not has_open_jobs:
            header.outcome = Outcome.LOST
        elif Status.RUNNING not in found and whole.is_final:
            header.outcome = overall(found)
    if header.outcome is None:
        return
    is_cancelled = header.outcome is Outcome.CANCELLED
    for state in whole.benchmarks.values():
        if state.status is Status.WAITING:
            has_begun = run.benchmark(state.name).is_dir()
            unended = Status.LOST if has_begun else Status.NOT_BEGUN
            state.status = Status.CANCELLED if is_cancelled else unended
            state.reason = GONE if has_begun else NEVER_BEGAN


def _upgraded_header(raw: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of ``run.json`` as schema 2 names them."""
    skipped = [_with_kind(each) for each in _objects(raw.get("skipped"))]
    jobs = raw.get("jobs", [])
    if raw.get("schema") != SCHEMA:
        jobs = [_renamed(job, points="benchmarks") for job in _objects(jobs)]
    return {**raw, "skipped": skipped, "jobs": jobs}


def _with_kind(skipped: Mapping[str, object]) -> Mapping[str, object]:
    """A skipped benchmark; of earlier runs, only the words of the reason tell its kind."""
    if "kind" in skipped:
        return skipped
    reason, kind = str(skipped.get("reason")), SkipKind.UNABLE
    if reason.startswith("disabled"):
        kind = SkipKind.LEFT_OUT if "(--override" in reason else SkipKind.DISABLED
    return {**skipped, "kind": kind}


def _objects(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, dict)]


def _renamed(raw: Mapping[str, object], **names: str) -> Mapping[str, object]:
    return {names.get(key, key): value for key, value in raw.items()}
