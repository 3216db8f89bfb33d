"""What a process did -> its outcome, and the reason in one sentence."""

import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..events import Data, Event, Note, Outcome

NO_RATE = "it ended with 0 but reported no rate, so nothing was measured"


@dataclass
class Witness:
    """What a process has shown so far on its metrics channel."""

    rates: int = 0
    nan_loss: bool = False
    stopped: bool = False
    ready: bool = False
    began: float | None = None  # monotonic time of its first measured step
    error: Mapping[str, Any] | None = field(default=None)
    instrument_error: Mapping[str, Any] | None = field(default=None)

    def see(self, event: Event) -> None:
        """Take notice of an event of this process."""
        match event:
            case Data(payload=payload):
                if _is_number(payload.get("rate")):
                    self.rates += 1
                loss = payload.get("loss")
                self.nan_loss |= isinstance(loss, float) and math.isnan(loss)
            case Note(kind="stop"):
                self.stopped = True
            case Note(kind="ready"):
                self.ready = True
            case Note(kind="begin", data={"time": float() | int() as time}):
                self.began = float(time)
            case Note(kind="error", data=Mapping() as data):
                self.error = self.error or data
            case Note(kind="overseer_error", data=Mapping() as data):
                self.instrument_error = self.instrument_error or data


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def judge(
    seen: Witness, returncode: int, cause: Outcome | None, why: str, reports: bool = True
) -> tuple[Outcome, str]:
    """The outcome of a process that is gone.

    Args:
        seen: what it reported.
        returncode: its exit status; negative for a signal.
        cause: why the supervisor stopped it; None where it ended by itself.
        why: the supervisor's reason.
        reports: whether it is one that must report a rate.
    """
    if cause is Outcome.OK or (seen.stopped and cause is None):
        returncode = 0  # it had said that it had enough: how it went does not matter
    elif cause is not None:
        return cause, why
    if seen.error is not None:
        return Outcome.FAILED, _said(seen.error)
    if returncode < 0:
        return Outcome.FAILED, f"killed by {_signal_name(-returncode)}"
    if returncode:
        return Outcome.FAILED, f"exit status {returncode}"
    if seen.instrument_error is not None:
        return Outcome.FAILED, f"an instrument failed: {_said(seen.instrument_error)}"
    if seen.nan_loss:
        return Outcome.FAILED, "the loss became NaN"
    if reports and not seen.rates:
        return Outcome.FAILED, NO_RATE
    return Outcome.OK, ""


def _said(error: Mapping[str, Any]) -> str:
    text = f"{error.get('type', 'error')}: {error.get('message', '')}".strip().rstrip(":")
    rank = error.get("rank")
    return f"rank {rank}: {text}" if isinstance(rank, int) else text


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


SEVERITY = (
    Outcome.CANCELLED,
    Outcome.LOST,
    Outcome.FAILED,
    Outcome.TIMEOUT,
    Outcome.SKIPPED,
    Outcome.OK,
)


def worst(outcomes: list[tuple[Outcome, str]]) -> tuple[Outcome, str]:
    """The outcome of the whole: the gravest of its parts, and the first reason for it."""
    return min(outcomes, key=lambda pair: SEVERITY.index(pair[0]), default=(Outcome.OK, ""))
