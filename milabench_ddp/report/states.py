"""What stands in a table in place of a number: the state of a benchmark, and why it is in it.

``Traceback``: an exception ended it; ``oom``: the memory of a device or of the host ran out;
``failed``: it ended badly in another way; ``timeout``, ``cancelled``, ``lost``; ``skipped``;
``running``; ``waiting..``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Outcome
from .model import Failure, Report, Row
from .output import OF_RANK, TRACEBACK

# PyTorch's and the drivers' own words; the kernel's and Slurm's, where a reason repeats them
OUT_OF_MEMORY = re.compile(r"out[ _-]?of[ _-]?memory|\boom[ _-]?kill|\boom\b", re.IGNORECASE)
FRAME = re.compile(r'^  File ".*", line \d+')
EXCEPTION = re.compile(r"^(?:rank \d+: )?[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b")


@dataclass(frozen=True)
class State:
    """A word for a cell, and the sentence that belongs below the table, if there is one."""

    word: str
    why: str = ""


def state(report: Report, row: Row) -> State | None:
    """The state of a benchmark; None where it ended ok, or nobody knows."""
    if found := [failure for failure in report.failures if failure.benchmark == row.name]:
        return _failed(next((f for f in found if f.lines), found[0]))
    for run in report.runs:
        for name, reason in run.skipped:
            if name == row.name and not row.n:
                return State("skipped", reason)
        if row.name in run.running:
            return State("running")
        if row.name in run.waiting and run.outcome is None:
            return State("waiting..")
    return None


def succeeded(row: Row) -> tuple[int, int]:
    """How many launches of a benchmark ended ok, of how many that left files."""
    launches: dict[tuple[str, str], bool] = {}
    listed = row.details.get("processes")
    for process in listed if isinstance(listed, list) else []:
        key = str(process["run"]), str(process["repeat"])
        launches[key] = launches.get(key, True) and process["outcome"] == Outcome.OK
    return sum(launches.values()), len(launches)


def _failed(failure: Failure) -> State:
    lines = [_unmarked(line) for line in failure.lines]
    raised = _raised(lines) or (failure.reason if EXCEPTION.match(failure.reason) else "")
    if failure.outcome not in (Outcome.FAILED, Outcome.LOST):
        return State(failure.outcome, failure.reason)
    if any(OUT_OF_MEMORY.search(text) for text in (failure.reason, *lines)):
        said = (text for text in (raised, failure.reason) if OUT_OF_MEMORY.search(text))
        return State("oom", next(said, failure.reason))
    if failure.outcome == Outcome.LOST:
        return State(failure.outcome, failure.reason)
    if raised:
        return State("Traceback", raised)
    return State(failure.outcome, failure.reason or next(filter(None, reversed(lines)), ""))


def _unmarked(line: str) -> str:
    """A line without the mark of its rank."""
    found = OF_RANK.match(line)
    return (found[2].removeprefix(" ") if found else line).rstrip()


def _raised(lines: Sequence[str]) -> str:
    """The line that names the exception: after the frames of the last traceback, not indented.

    What follows it can be any number of lines of its message; the beginning can be cut off.
    """
    heads = [k for k, line in enumerate(lines) if line == TRACEBACK]
    frames = [k for k, line in enumerate(lines) if FRAME.match(line)]
    if not heads and not frames:
        return ""
    start = heads[-1] if heads else frames[0]
    return next((line for line in lines[start + 1 :] if line and not line[0].isspace()), "")
