"""Tracks one launch over its nodes, from its start until the end of every node's part."""

import uuid
from collections.abc import Sequence
from itertools import chain

from ..config.schema import VALIDATE
from ..events import Outcome, Verdict
from ..grouping import grouped
from ..launch.causes import is_timeout, may_follow
from ..launch.hangs import who_hangs, with_hang
from ..launch.stacks import ENDED
from ..plan.launch import Launch
from ..results.rates import why_nothing_measured
from ..results.state import LaunchState, ProcessState
from .nodes import NodeLost
from .protocol import Timeouts

_SAME_DEADLINE = 2.0  # seconds by which the nodes' starts, and so their deadlines, may differ


class LaunchTracker:
    """Collects how each node's part ended, decides when to stop the others, and gives the verdict.

    Args:
        nodes: the names of its nodes, in the order of their ranks.
        now: when the launch starts, in monotonic seconds.
    """

    def __init__(
        self, launch: Launch, nodes: Sequence[str], now: float, grace: float, timeouts: Timeouts
    ) -> None:
        self.launch, self.nodes, self.id = launch, tuple(nodes), uuid.uuid4().hex
        self.waits_for = set(nodes)
        self._timeouts = timeouts
        # A node ends its part itself at the deadline; this is for a node that does not report it.
        self._overdue = now + launch.benchmark.max_duration + grace + timeouts.report
        self._others_due: float | None = None  # when to stop the nodes that still run
        self._has_stopped = False
        self._failed: list[str] = []  # the nodes whose part did not end ok, the first one first
        self._cause: Verdict | None = None  # once a node is lost, or the others are stopped
        self._ends: dict[str, LaunchState] = {}  # by node

    @property
    def is_done(self) -> bool:
        return not self.waits_for

    @property
    def has_failed(self) -> bool:
        return bool(self._failed)

    def ended(self, node: str, state: LaunchState, now: float) -> None:
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._ends[node] = state
        if state.verdict.is_ok or self._cause is not None:
            return
        self._failed.append(node)
        if len(self._failed) == 1 and self.launch.is_joint:
            self._others_due = now + self._timeouts.others

    def lose(self, node: str, lost: NodeLost, now: float) -> None:
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        if self._cause is None or self._cause.outcome is not Outcome.LOST:
            self._cause = Verdict(lost.outcome, f"{node} {lost.reason}")
        if self.launch.is_joint or VALIDATE not in self.launch.benchmark.tags:
            self._others_due = now  # at once: they would wait for ever, or measure for nothing

    def stop_due(self, now: float) -> Verdict | None:
        """The verdict on the nodes that still run, once when they are to be stopped; else None."""
        if self._has_stopped or self._others_due is None or now < self._others_due or self.is_done:
            return None
        self._has_stopped = True
        self._cause = self._cause or self._first_failure()
        return self._cause

    def _first_failure(self) -> Verdict | None:
        if not self._failed:
            return None
        # ``min`` gives the earliest of equals
        node = min(self._failed, key=self._doubt)
        state = self._ends[node]
        prefix = f"{node}: " if len(self.nodes) > 1 else ""
        return Verdict(state.outcome, f"{prefix}{state.reason}")

    def _doubt(self, node: str) -> tuple[bool, int]:
        """How likely the failure of a node's part follows from another's; small for a cause."""
        state = self._ends[node]
        if state.outcome is not Outcome.FAILED:
            return False, 1
        doubt = 1 + may_follow(state.reason)
        if "killed by" in state.reason:
            doubt = 0
        return self._is_late(state), doubt

    def _is_late(self, state: LaunchState) -> bool:
        failed = [p.ended - p.started for p in state.processes if p.outcome is Outcome.FAILED]
        return min(failed, default=0.0) >= self.launch.benchmark.max_duration - _SAME_DEADLINE

    def overdue(self, now: float) -> set[str]:
        return set(self.waits_for) if now >= self._overdue else set()

    def state(self) -> LaunchState:
        """The state of the launch: lost with a node, else what failed first, else ok."""
        ends = [self._ends[node] for node in self.nodes if node in self._ends]
        processes = tuple(chain.from_iterable(end.processes for end in ends))
        verdict = self._verdict(processes)
        return LaunchState(
            self.launch.repeat,
            verdict.outcome,
            verdict.reason,
            processes,
            self.nodes,
            any(end.is_cut_off for end in ends),
        )

    def _verdict(self, processes: Sequence[ProcessState]) -> Verdict:
        cause = self._cause or self._first_failure()
        if cause is not None:
            said = self._who_hangs(processes, cause)
            slow = [process.verdict for process in processes if process.goes_on]
            if slow and not said and cause.outcome is Outcome.TIMEOUT:
                return slow[0]
            return with_hang(cause, said)
        for job in self._jobs(processes):  # one of its processes may report for all
            if reason := why_nothing_measured(process.told for process in job):
                return Verdict(Outcome.FAILED, reason)
        return Verdict(Outcome.OK)

    def _who_hangs(self, processes: Sequence[ProcessState], cause: Verdict) -> str:
        """The first job in which a rank hangs, by where its ranks on all nodes were.

        Where a rank was when torchrun ended it says that it hangs only if another timed out.
        """
        is_late = cause.outcome is Outcome.TIMEOUT
        timed_out = is_timeout(cause.reason)
        jobs = self._jobs(processes)
        for job in jobs:
            if any(process.goes_on for process in job):
                continue  # one tells the rates of all
            calls = [call for process in job for call in process.calls]
            calls = [call for call in calls if timed_out or call.state != ENDED]
            if said := who_hangs(calls, timed_out=is_late):
                return f"{job[0].tag}: {said}" if len(jobs) > 1 else said
        return ""

    def _jobs(self, processes: Sequence[ProcessState]) -> list[list[ProcessState]]:
        """The processes of each job; one whose ranks meet no others is a job of its own."""
        jobs = {each.name: each.job for each in self.launch.processes if each.job is not None}
        return list(grouped((jobs.get(each.tag, each.tag), each) for each in processes).values())
