"""The state of a run, as records: ``run.json`` and one ``<benchmark>/state.json`` for each.

``run.json`` says what is run, where, by which jobs, and how the run ended; the command that started
the run writes it. Each benchmark's file is written by the coordinator that runs it.

History of the schema:
    1  the states of all benchmarks stood in ``run.json``, as ``outcome``; on several nodes, also
       in files of their own
    2  each benchmark has its own file; its state is called ``status``
"""

import os
import time
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ..config.schema import SkippedBenchmark
from ..events import Outcome, Status, Verdict
from .isolation import IsolationRecord
from .node_state import NodeState
from .rates import RateCounts

SCHEMA = 2
_FINAL = (Status.OK, Status.FAILED, Status.TIMEOUT, Status.SKIPPED)


class RankCall(Struct, frozen=True):
    """Where a rank was when its launch did not go on, before it was ended."""

    rank: int | None  # None for a process that is no rank of several
    state: str  # the letter of ``/proc``: R, S, D, T, Z; empty if it was gone; or SIGTERM: where
    # it was when that signal ended it
    call: str  # the line of source that does not return, and its place; empty if not known
    waits_in: str  # the call in which it waited for others; empty if it did not
    moves: bool = False  # it was somewhere else a while later
    begun: int | None = None  # collectives of all ranks that it began, by its flight recorder
    is_busy: bool = False  # it computed meanwhile
    untold: str = ""  # why its call is not known, and what would have shown it


class Survivor(Struct, frozen=True):
    """A process that SIGKILL did not end: it is in the kernel, or of another user."""

    pid: int
    born: int  # in ticks since boot: with the pid, it is this process alone
    benchmark: str  # whose it was


class ProcessState(Struct, frozen=True):
    """A process that has ended; times in seconds since the epoch."""

    tag: str
    pid: int
    returncode: int | None  # None if nobody saw it end
    outcome: Outcome
    reason: str
    started: float
    ended: float
    told: RateCounts = field(default_factory=RateCounts)  # what it told of its rate
    calls: tuple[RankCall, ...] = ()  # of its ranks, if it did not go on
    goes_on: bool = False  # it still told data at its deadline
    # what it left, and, of the first one of a launch, what earlier launches had left that still ran
    survivors: tuple[Survivor, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.outcome, self.reason)


class LaunchState(Struct, frozen=True):
    """How one repeat of a benchmark ended, on all its nodes or on one of them."""

    repeat: int | None
    outcome: Outcome
    reason: str
    processes: tuple[ProcessState, ...] = ()
    nodes: tuple[str, ...] = ()  # where it ran
    is_cut_off: bool = False  # its results could not be written: `--resume` runs it again

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.outcome, self.reason)

    @property
    def survivors(self) -> tuple[Survivor, ...]:
        return tuple(chain.from_iterable(process.survivors for process in self.processes))

    def behind(self, seconds: float) -> "LaunchState":
        """The same by a clock that is so far behind that of its node."""
        moved = [
            replace(each, started=each.started - seconds, ended=each.ended - seconds)
            for each in self.processes
        ]
        return replace(self, processes=tuple(moved))

    @property
    def seconds(self) -> float:
        """How long it took, from its first process to the end of its last; 0 if none began."""
        begun = min((process.started for process in self.processes), default=0.0)
        return max((process.ended for process in self.processes), default=0.0) - begun


class Repeats(Struct, frozen=True):
    """How many launches a benchmark has in all, and how precise its rate is with those so far."""

    expected: int = 1  # as far as those so far tell
    until: float | None = None  # the half width that is asked for, as ``half_width``
    # of the 95 % interval of the rate, as a fraction of it; None if it is not known
    half_width: float | None = None
    problem: str = ""  # why another launch follows, or none; it ends a sentence

    @property
    def is_reached(self) -> bool:
        if self.until is None:
            return True
        return self.half_width is not None and self.half_width <= self.until


class BenchmarkState(Struct):
    """One benchmark of a run: the file ``<benchmark>/state.json``."""

    name: str
    status: Status = Status.WAITING
    reason: str = ""
    started: float | None = None  # seconds since the epoch
    ended: float | None = None
    launches: list[LaunchState] = []
    nodes: tuple[str, ...] = ()  # where it runs, or ran
    max_duration: float = 0.0  # seconds that each launch may take; 0 until it runs
    interrupted: bool = False  # it was stopped from outside: `--resume` runs it again
    repeats: Repeats = Repeats()
    is_paused: bool = False  # other benchmarks run before its next launch

    @property
    def verdict(self) -> Verdict:
        return Verdict(Outcome(self.status), self.reason)

    def end(self, verdict: Verdict) -> None:
        self.status, self.reason = Status(verdict.outcome), verdict.reason
        self.ended = time.time()

    @property
    def ran(self) -> tuple[float, float] | None:
        return None if self.started is None or self.ended is None else (self.started, self.ended)

    @property
    def launch_seconds(self) -> float | None:
        known = [launch.seconds for launch in self.launches if launch.verdict.is_ok]
        return sum(known) / len(known) if known else None

    @property
    def is_final(self) -> bool:
        """Whether it has a result that `--resume` leaves alone."""
        return self.status in _FINAL and not self.interrupted


def overall(statuses: Iterable[Status]) -> Outcome:
    """The outcome of a run all of whose benchmarks have ended; skipped ones do not count."""
    found = set(statuses)
    if Status.CANCELLED in found:
        return Outcome.CANCELLED
    if found == {Status.SKIPPED}:
        return Outcome.SKIPPED
    return Outcome.OK if found <= {Status.OK, Status.SKIPPED} else Outcome.FAILED


class JobState(Struct):
    """A Slurm job, and the benchmarks that it runs."""

    name: str
    nodes: int
    benchmarks: tuple[str, ...]
    id: str = ""  # empty until it is submitted
    state: str = ""  # Slurm's name for how it ended; empty until then


def own_id() -> str:
    """The id of the job of this process; empty outside of a job."""
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID", "")


class RunHeader(Struct):
    """The file ``run.json``; the names of its benchmarks are the keys of ``suite``, in order."""

    name: str
    milabench: str  # the version
    created: float  # seconds since the epoch
    command: list[str]
    preset: str
    config: str
    machine: dict[str, Any]  # provenance
    suite: dict[str, Any]  # each benchmark's resolved configuration
    skipped: list[SkippedBenchmark] = []
    jobs: list[JobState] = []
    outcome: Outcome | None = None  # None until it has ended
    ended: float | None = None
    seed: int | None = None  # of the random order; None: the order of the configuration
    sides: tuple[str, ...] = ()  # the names of the two runs whose launches took turns, or none
    # why benchmarks failed whose states could not be written, as on a full disk, by name
    unwritten: dict[str, str] = {}
    schema: int = SCHEMA


class RunState(Struct, frozen=True):
    """The state of a run and of each of its benchmarks, without the measurements."""

    header: RunHeader
    benchmarks: Mapping[str, BenchmarkState]  # by name, in the order of the suite
    nodes: Mapping[str, NodeState] = {}  # those that have agents, by name
    isolations: Mapping[str, IsolationRecord] = {}  # by benchmark

    @property
    def is_final(self) -> bool:
        """Whether nothing more is to be run, nor to be isolated."""
        is_isolated = not any(each.is_open for each in self.isolations.values())
        return is_isolated and all(each.is_final for each in self.benchmarks.values())
