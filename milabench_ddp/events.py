"""The events of a run and its outcomes, as values that all layers share.

Times are seconds since the epoch. ``tag`` names the process of a plan that an event belongs to
(``flops.D0``); a torchrun and all its ranks are one tag, and a payload's ``rank`` tells them apart.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

from .interrupts import signal_name
from .metric_line import MetricLine


class Outcome(StrEnum):
    """How a benchmark, a launch or a process ended, the gravest first."""

    LOST = "lost"
    NOT_BEGUN = "not begun"  # a benchmark whose job or run ended before
    CANCELLED = "cancelled"
    FAILED = "failed"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"
    OK = "ok"


class Status(StrEnum):
    """Where a benchmark of a run stands: not ended yet, or how it ended."""

    WAITING = "waiting"
    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"
    NOT_BEGUN = "not begun"
    SKIPPED = "skipped"

    @property
    def has_ended(self) -> bool:
        return self not in (Status.WAITING, Status.RUNNING)


class Verdict(Struct, frozen=True):
    """How something ended, and why in one sentence; the reason is empty where it ended ok."""

    outcome: Outcome
    reason: str = ""

    @property
    def is_ok(self) -> bool:
        return self.outcome is Outcome.OK


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The gravest verdict, and the first one if several are equally grave; ok without verdicts."""
    return min(
        verdicts,
        key=lambda verdict: list(Outcome).index(verdict.outcome),
        default=Verdict(Outcome.OK),
    )


NO_RATE = "exit status 0, but it told no rate: nothing was measured"
NO_USABLE_RATE = "exit status 0, but it told no rate that counts: nothing was measured"
NAN_LOSS = "the loss became NaN"

OUT_OF_MEMORY = re.compile(
    r"out[ _-]?of[ _-]?(?:(?:device|host)[ _-])?memory|exceeded (?:\w+ )?memory limit"
    r"|\boom[ _-]?kill|\boom\b|MemoryError\b|\bbad_alloc\b|rocblas_status_memory_error"
    r"|ALLOC(?:ATION)?_FAILED\b|StatusAllocFailed\b|Failed to CUDA (?:malloc|calloc)"
    r"|(?:can(?:'t|not)|unable to|failed to|could not) allocate (?:\w+ )?memory"
    r"|unable to allocate [\d.]+ [KMGTP]?i?B\b|cudaErrorMemoryAllocation",
    re.IGNORECASE,
)
"""How PyTorch, the libraries below it, the drivers, the kernel and Slurm say that it ran out."""


def exit_reason(returncode: int) -> str:
    """Why a process with this exit status failed; negative for a signal, as in ``subprocess``."""
    if returncode >= 0:
        return f"exit status {returncode}"
    return f"killed by {signal_name(-returncode)}"


class Started(Struct, frozen=True):
    """A process has executed its program."""

    tag: str
    time: float
    pid: int
    command: tuple[str, ...]


class Output(Struct, frozen=True):
    """Lines of output that were read together, with their newlines; not UTF-8 is escaped.

    ``stacks`` is no output: it says where the processes were which did not go on.
    """

    tag: str
    time: float
    stream: Literal["stdout", "stderr", "stacks"]
    text: str


class Metrics(Struct, frozen=True):
    """Ordinary metric lines of a program that were read together."""

    tag: str
    time: float
    text: bytes  # whole lines, as the program wrote them
    lines: Sequence[MetricLine]  # what they tell


class Data(Struct, frozen=True):
    """A payload of metrics: of a line that is not an ordinary one, or from the monitor."""

    tag: str
    time: float
    payload: Mapping[str, Any]


class Note(Struct, frozen=True):
    """Any other event that a program sends over the metrics channel.

    ``kind`` is phase, stop, error, overseer_error, message, ready or begin; or, for a line that is
    not an event, format_error (not JSON, not an object) or binary (not UTF-8). Of the supervisor:
    writers, the ranks that had the metrics channel open, where rates do not tell theirs.
    """

    tag: str
    time: float
    kind: str
    data: Any


OWN_EVENTS = frozenset(
    {"config", "meta", "start", "end", "line", "device_problem", "writers"}
    | {"format_error", "binary"}
)
"""The events that only we write: a program that sends one of them would forge a result."""

OWN_KEYS = ("gpudata", "hostdata", "arrived")
"""The keys of payloads that only we write: what the monitor reads, and when a line came."""


class Ended(Struct, frozen=True):
    """A process has ended, or was given up; ``reason`` is one sentence, empty when ok."""

    tag: str
    time: float
    returncode: int | None  # None if nobody saw it end
    outcome: Outcome
    reason: str


Event = Started | Output | Metrics | Data | Note | Ended
Emit = Callable[[Event], None]
Clock = Callable[[], float]  # monotonic seconds, unless it is said to be another one
