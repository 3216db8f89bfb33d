"""How a process ended: what the supervisor recorded, or what milabench's files let one conclude."""

import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..events import Outcome
from ..results.records import Record, Run
from . import compat

RUNNING = "running"
NOT_ENDED = ("running", "waiting")


@dataclass(frozen=True)
class Ending:
    """An outcome, or ``running``; and why, in one sentence, empty for ok and running."""

    outcome: str
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether it counts as a failure."""
        return self.outcome not in (Outcome.OK, Outcome.SKIPPED, RUNNING)


def of_process(record: Record, run: Run) -> Ending:
    """How the process of a file ended."""
    end = record.end
    if end is None:
        state = states(run).get(record.name, {})
        if run.state.get("outcome") is None and state.get("outcome") in NOT_ENDED:
            return Ending(RUNNING)
        known = str(state.get("reason") or "") if state.get("outcome") == Outcome.LOST else ""
        return Ending(Outcome.LOST, known or "its file has no end: it was cut off")
    recorded = end.get("outcome")
    if recorded in tuple(Outcome):
        return Ending(recorded, str(end.get("reason") or ""))
    if compat.succeeded(record):
        return Ending(Outcome.OK)
    return Ending(Outcome.FAILED, _why(record, end))


def _why(record: Record, end: Mapping[str, Any]) -> str:
    code = end.get("return_code")
    if isinstance(code, int) and code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    if code != 0:
        return f"exit status {code}"
    if any(isinstance(loss, float) and math.isnan(loss) for loss in record.losses):
        return "the loss became NaN"
    return "it reported no training rate, so nothing was measured"


def states(run: Run) -> dict[str, Mapping[str, Any]]:
    """What run.json says of each benchmark, by its name."""
    return states_of(run.state)


def states_of(state: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The same, of what was read from the file."""
    listed = state.get("benchmarks")
    entries = listed if isinstance(listed, list) else []
    return {str(e["name"]): e for e in entries if isinstance(e, dict) and "name" in e}
