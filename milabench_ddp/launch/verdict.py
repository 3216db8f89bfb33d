"""The verdict on a process, from its reports and its exit status."""

import math
from collections import deque
from collections.abc import Mapping
from itertools import pairwise

from msgspec import Struct, field

from ..errors import LONGEST_MESSAGE, count_text, shortened
from ..events import NAN_LOSS, NO_RATE, Data, Event, Metrics, Note, Outcome, Output, Verdict
from ..hidden import hide
from ..results.rates import RateCounts, why_nothing_measured
from .causes import (
    WATCHDOG,
    LastException,
    LauncherSummary,
    is_timeout,
    may_follow,
    timed_out,
)

RECENT = 10  # times at which data of a process came, the last
LATE = 3.0  # times the longest of their gaps


class Observations(Struct):
    """The reports of a process so far, on its metrics channel."""

    own_rank: int | None = None  # the rank that the process is itself; None for a torchrun
    told: RateCounts = field(default_factory=RateCounts)  # of its rate
    loss_is_nan: bool = False
    has_enough: bool = False  # it sent `stop`
    is_ready: bool = False  # it waits at the start barrier
    error: str = ""
    lacks: str = ""  # what its device does not have, so that there is nothing to measure
    instrument_error: str = ""
    has_printed_rates: bool = False
    launcher: LauncherSummary = field(default_factory=LauncherSummary)
    exception: LastException = field(default_factory=LastException)
    # when the last data came, in seconds
    times: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    @property
    def misses_peer(self) -> bool:
        return bool(self.error) and may_follow(self.error)

    def goes_on(self, now: float) -> bool:
        """Whether its last data came as lately as its earlier data let expect."""
        gaps = [later - earlier for earlier, later in pairwise(self.times)]
        return bool(gaps) and now - self.times[-1] <= LATE * max(gaps)

    def progress(self, now: float) -> str:
        observations = count_text(self.told.usable, "observation")
        ago = f"the last data came {now - self.times[-1]:.1f} s before its deadline"
        return f"it goes on: {observations}, {ago}; raise max_duration"

    @property
    def killed_rank(self) -> str:
        is_first = bool(self.error) and (not may_follow(self.error) or is_timeout(self.error))
        if is_first and self.launcher.names_an_exit:
            return ""  # torchrun kills the other ranks if they do not end in time
        return self.launcher.killed

    def add(self, event: Event) -> None:
        match event:
            case Metrics(lines=lines):
                self._came(event.time)
                self.told.add_lines(lines, self.own_rank)
            case Data(payload=payload):
                self._came(event.time)
                self.told.add(payload, self.own_rank)
                loss = payload.get("loss")
                if isinstance(loss, float) and math.isnan(loss):
                    self.loss_is_nan = True
            case Note(kind="stop"):
                self.has_enough = True
            case Note(kind="ready"):
                self.is_ready = True
            case Note(kind="error", data={"skip": True, "message": str() as message}):
                self.lacks = self.lacks or shortened(hide(message), LONGEST_MESSAGE)
            case Note(kind="error", data=Mapping() as data):
                self._add_error(_describe(data))
            case Output(stream="stdout", text=text):
                self.has_printed_rates = self.has_printed_rates or '"rate":' in text
            case Output(stream="stderr", text=text):
                # most of a flood cannot say why a process ended
                if WATCHDOG in text or self.launcher.heeds(text) or self.exception.heeds(text):
                    for line in text.split("\n"):
                        self.launcher.read(line)
                        self.exception.read(line)
                        if said := timed_out(line):
                            self._add_error(said)
            case Note(kind="overseer_error", data=Mapping() as data):
                self.instrument_error = self.instrument_error or _describe(data)

    def _came(self, time: float) -> None:
        if not self.times or time > self.times[-1]:
            self.times.append(time)

    def _add_error(self, said: str) -> None:
        if not self.error or (may_follow(self.error) and not may_follow(said)):
            self.error = said


def judge(
    observed: Observations,
    returncode: int | None,
    stopped: Verdict | None,
    must_report: bool = True,
) -> Verdict:
    """The verdict on a process that has ended.

    Args:
        returncode: its exit status; negative for a signal; None only if it was stopped.
        stopped: why the supervisor stopped it; None if it ended by itself.
        must_report: whether it has failed if it has not told a rate that can be used.
    """
    if stopped is not None and not stopped.is_ok:
        return stopped
    if stopped is not None or observed.has_enough:
        returncode = 0  # it had enough observations: its exit status does not matter
    if observed.lacks and (not observed.error or may_follow(observed.error)):
        return Verdict(Outcome.SKIPPED, observed.lacks)
    reason = ""
    if returncode and observed.killed_rank:
        reason = observed.killed_rank
    elif observed.error:
        reason = observed.error
    elif returncode:
        reason = observed.launcher.ended_first(observed.exception)
        reason = reason or observed.exception.reason(returncode)
    elif observed.instrument_error:
        reason = f"an instrument failed: {observed.instrument_error}"
    elif observed.loss_is_nan:
        reason = NAN_LOSS
    elif must_report:
        reason = why_nothing_measured([observed.told])
        if reason == NO_RATE and observed.has_printed_rates:
            reason += ": it printed some: write them to the file that $MILABENCH_METRICS names"
    return Verdict(Outcome.FAILED if reason else Outcome.OK, reason)


def _describe(error: Mapping[str, object]) -> str:
    """An error that a program reported, as text; type, message and rank may each be missing."""
    text = str(error.get("type") or "error")
    if message := str(error.get("message") or "").strip():
        text = f"{text}: {message}"
    text = shortened(hide(text), LONGEST_MESSAGE)  # no secret is cut in two
    rank = error.get("rank")
    if isinstance(rank, int):
        text = f"rank {rank}: {text}"
    return text
