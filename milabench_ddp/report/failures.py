"""Who failed, why, and what it said: of processes, and of benchmarks of which none ever ran."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..events import Outcome
from ..results.records import Record, Run
from .model import Failure
from .outcomes import NOT_ENDED, Ending, states
from .output import SHOWN, failed_rank, of_rank, tail
from .runinfo import describe


def of_process(record: Record, run: Run, ending: Ending) -> Failure:
    """The failure of a process, with the evidence beside it."""
    lines, whole = tail(record.path, "stderr")
    if not lines:
        lines, whole = tail(record.path, "stdout")
    rank = failed_rank(lines)
    error = _error_of(record.errors, rank)
    if error is not None and isinstance(error.get("rank"), int):
        rank = error["rank"]
    trace = str(error.get("trace") or "").rstrip() if error else ""
    said = trace.split("\n") if trace else of_rank(lines, rank)
    return Failure(
        benchmark=record.name,
        run=run.name,
        tag=record.tag,
        outcome=ending.outcome,
        reason=ending.reason or _message(error),
        rank=rank,
        lines=tuple(said[-SHOWN:]),
        whole=whole,
    )


def _error_of(errors: Sequence[Mapping[str, Any]], rank: int | None) -> Mapping[str, Any] | None:
    """The first error of the rank that failed first; when one fails, others often follow."""
    own = (error for error in errors if error.get("rank") == rank)
    return next(own, errors[0] if errors else None)


def _message(error: Mapping[str, Any] | None) -> str:
    said = error or {}
    return ": ".join(str(said[key]) for key in ("type", "message") if said.get(key))


def of_benchmarks(
    runs: Sequence[Run], failed: Sequence[Failure], enabled: Iterable[str]
) -> list[Failure]:
    """Failures of benchmarks that are none of a process, above all those of which none ever ran.

    Args:
        runs: all of them.
        failed: the failures of processes.
        enabled: benchmarks of the configuration that was given; empty without one.
    """
    found = [failure for run in runs for failure in _of_run(run, failed)]
    known = {failure.benchmark for failure in found}
    for run in runs:
        known |= {record.name for record in run.records} | states(run).keys()
        known |= {name for name, _ in describe(run).skipped}
    why = "it never ran: the configuration has it enabled, and no run has a file of it"
    found += [Failure(name, "", None, Outcome.LOST, why) for name in sorted(set(enabled) - known)]
    return found


def _of_run(run: Run, failed: Sequence[Failure]) -> Iterator[Failure]:
    with_files = {record.name for record in run.records}
    told = {failure.benchmark for failure in failed if failure.run == run.name}
    for name, state in states(run).items():
        outcome, reason = str(state.get("outcome")), str(state.get("reason") or "")
        if outcome in NOT_ENDED:
            if run.state.get("outcome") is None:
                continue  # it will
            is_cancelled = run.state.get("outcome") == Outcome.CANCELLED
            outcome = Outcome.CANCELLED if is_cancelled else Outcome.LOST
        if outcome in (Outcome.OK, Outcome.SKIPPED) or name in told:
            continue
        if name not in with_files:
            reason = "it never ran" + (f": {reason}" if reason else "")
        yield Failure(name, run.name, None, outcome, reason)
