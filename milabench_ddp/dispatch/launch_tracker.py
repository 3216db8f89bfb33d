"""Tracks one launch over its nodes, from its start until the end of every node's part."""

import uuid
from collections.abc import Iterable, Sequence

from ..events import Outcome, Verdict
from ..plan.launch import Launch
from ..results.rates import why_nothing_measured
from ..results.state import LaunchState, ProcessState
from .protocol import Timeouts


class LaunchTracker:
    """Collects how each node's part ended, decides when to stop the others, and gives the verdict.

    Args:
        launch: the whole launch.
        nodes: the names of its nodes, in the order of their ranks.
        now: when the launch starts, in monotonic seconds.
        grace: seconds between SIGTERM and SIGKILL.
        timeouts: how long to wait for nodes.
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
        self._first: Verdict | None = None  # of the first part that did not end ok
        self._lost = ""
        self._ends: dict[str, LaunchState] = {}  # by node

    @property
    def is_done(self) -> bool:
        """Whether every node's part has ended or is lost."""
        return not self.waits_for

    def ended(self, node: str, state: LaunchState, now: float) -> None:
        """Take note of how a node's part ended."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._ends[node] = state
        if state.verdict.is_ok or self._first is not None or self._lost:
            return
        prefix = f"{node}: " if len(self.nodes) > 1 else ""
        self._first = Verdict(state.outcome, f"{prefix}{state.reason}")
        if any(process.job is not None for process in self.launch.processes):
            self._others_due = now + self._timeouts.others  # per_gpu: nothing waits for it

    def lose(self, node: str, reason: str, now: float) -> None:
        """Take note that a node is lost."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._lost = self._lost or f"{node} {reason}"
        self._others_due = now  # at once: the others would wait for it for ever

    def stop_due(self, now: float) -> str:
        """The reason to stop the nodes that still run, once when that is due; else empty."""
        if self._has_stopped or self._others_due is None or now < self._others_due or self.is_done:
            return ""
        self._has_stopped = True
        if self._lost or self._first is None:
            return self._lost
        return self._first.reason

    def overdue(self, now: float) -> set[str]:
        """The nodes that have not reported the end of their part in time."""
        return set(self.waits_for) if now >= self._overdue else set()

    def state(self) -> LaunchState:
        """The state of the launch: lost with a node, else its first failure, else ok."""
        ends = [self._ends[node] for node in self.nodes if node in self._ends]
        processes = tuple(process for end in ends for process in end.processes)
        verdict = self._verdict(processes)
        return LaunchState(
            self.launch.repeat,
            verdict.outcome,
            verdict.reason,
            _largest(end.start_skew_ms for end in ends),
            _largest(end.begin_skew_ms for end in ends),
            processes,
            self.nodes,
        )

    def _verdict(self, processes: Sequence[ProcessState]) -> Verdict:
        if self._lost:
            return Verdict(Outcome.LOST, self._lost)
        if self._first is not None:
            return self._first
        for job in self._jobs(processes):
            if reason := why_nothing_measured(process.told for process in job):
                return Verdict(Outcome.FAILED, reason)
        return Verdict(Outcome.OK)

    def _jobs(self, processes: Sequence[ProcessState]) -> Iterable[Sequence[ProcessState]]:
        """The processes of each job whose ranks are in several of them; one may report for all."""
        ended = {process.tag: process for process in processes}
        jobs: dict[int, list[ProcessState]] = {}
        for process in self.launch.processes:
            if process.job is not None:
                parts = jobs.setdefault(process.job, [])
                if process.name in ended:
                    parts.append(ended[process.name])
        return jobs.values()


def _largest(skews: Iterable[float | None]) -> float | None:
    return max((skew for skew in skews if skew is not None), default=None)
