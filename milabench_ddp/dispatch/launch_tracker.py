"""One launch over its nodes, from its start until each has said how its part of it ended."""

import uuid
from collections.abc import Iterable, Sequence

from ..events import NO_RATE, Outcome, Verdict
from ..plan.launch import Launch
from ..results.state import LaunchState, ProcessState
from .protocol import Timeouts


class LaunchTracker:
    """Collects the ends of the parts; says when the others should be stopped, and the verdict.

    Args:
        launch: the whole launch.
        nodes: the names of its nodes, in the order of their ranks.
        now: when it starts, monotonic.
        grace: seconds between SIGTERM and SIGKILL.
        timeouts: how long nodes are waited for.
    """

    def __init__(
        self, launch: Launch, nodes: Sequence[str], now: float, grace: float, timeouts: Timeouts
    ) -> None:
        self.launch, self.nodes, self.id = launch, tuple(nodes), uuid.uuid4().hex
        self.waits_for = set(nodes)
        self._timeouts = timeouts
        # A node ends its part itself at the deadline: this is for one that does not say so.
        self._overdue = now + launch.benchmark.max_duration + grace + timeouts.report
        self._others_due: float | None = None  # when the nodes that still run have had their time
        self._has_stopped = False
        self._first: Verdict | None = None  # the first that did not end ok
        self._lost = ""
        self._ends: dict[str, LaunchState] = {}  # by node

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return not self.waits_for

    def ended(self, node: str, state: LaunchState, now: float) -> None:
        """A node says how its part ended."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._ends[node] = state
        if state.verdict.is_ok or self._first is not None or self._lost:
            return
        prefix = f"{node}: " if len(self.nodes) > 1 else ""
        self._first = Verdict(state.outcome, f"{prefix}{state.reason}")
        if any(process.job is not None for process in self.launch.processes):
            self._others_due = now + self._timeouts.others  # else no rank waits for its ranks

    def lose(self, node: str, reason: str, now: float) -> None:
        """Nothing more will come from this node."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._lost = self._lost or f"{node} {reason}"
        self._others_due = now  # the others wait for it in vain

    def stop_due(self, now: float) -> str:
        """Why the nodes that still run should be stopped now; said once, empty before."""
        if self._has_stopped or self._others_due is None or now < self._others_due or self.is_done:
            return ""
        self._has_stopped = True
        if self._lost or self._first is None:
            return self._lost
        return self._first.reason

    def overdue(self, now: float) -> set[str]:
        """The nodes that should have said long ago how their part ended."""
        return set(self.waits_for) if now >= self._overdue else set()

    def state(self) -> LaunchState:
        """The verdict: a lost node before all, else what went wrong first, else ok."""
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
        if self._has_silent_job(processes):
            return Verdict(Outcome.FAILED, NO_RATE)
        return Verdict(Outcome.OK)

    def _has_silent_job(self, processes: Sequence[ProcessState]) -> bool:
        """Whether a job that spans the nodes reported no rate on any of them."""
        reported = {process.tag: process.rates for process in processes}
        rates: dict[int, int] = {}
        for process in self.launch.processes:
            if process.job is not None:
                rates[process.job] = rates.get(process.job, 0) + reported.get(process.name, 0)
        return not all(rates.values())


def _largest(skews: Iterable[float | None]) -> float | None:
    return max((skew for skew in skews if skew is not None), default=None)
