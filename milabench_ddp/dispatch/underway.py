"""One launch over its nodes, from its start until each has said how its part of it ended."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..events import NO_RATE, Outcome
from ..plan.launch import Launch
from ..results.runfile import LaunchState
from . import wire
from .patience import Patience


class Underway:
    """Collects the ends of the parts; says when the others should be stopped, and the verdict."""

    def __init__(
        self, launch: Launch, nodes: Sequence[str], now: float, grace: float, patience: Patience
    ) -> None:
        self.launch, self.nodes, self.id = launch, list(nodes), uuid.uuid4().hex
        self.waits_for = set(nodes)
        self._patience = patience
        # A node ends its part itself at the deadline: this is for one that does not say so.
        self._overdue = now + launch.benchmark.max_duration + grace + patience.report
        self._follow: float | None = None  # when those that still run have had their time
        self._asked = False
        self._first: tuple[Outcome, str] | None = None  # the first that did not end ok
        self._lost = ""
        self._ends: dict[str, Mapping[str, Any]] = {}

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return not self.waits_for

    def ended(self, node: str, end: Mapping[str, Any], now: float) -> None:
        """A node says how its part ended."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._ends[node] = end
        outcome = Outcome(end["outcome"])
        if outcome is not Outcome.OK and self._first is None and not self._lost:
            where = f"{node}: " if len(self.nodes) > 1 else ""
            self._first = outcome, f"{where}{end['reason']}"
            if any(process.job is not None for process in self.launch.processes):
                self._follow = now + self._patience.follow  # else nobody waits for its ranks

    def lose(self, node: str, why: str, now: float) -> None:
        """Nothing more will come from this node."""
        if node not in self.waits_for:
            return
        self.waits_for.discard(node)
        self._lost = self._lost or f"{node} {why}"
        self._follow = now  # the others wait for it in vain

    def stop_due(self, now: float) -> str:
        """Why the nodes that still run should be stopped now; said once, empty before."""
        if self._asked or self._follow is None or now < self._follow or self.done:
            return ""
        self._asked = True
        return self._lost or (self._first[1] if self._first else "")

    def overdue(self, now: float) -> set[str]:
        """The nodes that should have said long ago how their part ended."""
        return set(self.waits_for) if now >= self._overdue else set()

    def _is_silent(self) -> bool:
        """Whether a job that spans the nodes reported no rate on any of them."""
        rates: dict[int, int] = {}
        told = {p["tag"]: p["rates"] for end in self._ends.values() for p in end["processes"]}
        for process in self.launch.processes:
            if process.job is not None:
                rates[process.job] = rates.get(process.job, 0) + told.get(process.name, 0)
        return not all(rates.values())

    def state(self) -> LaunchState:
        """The verdict: a lost node before all, else what went wrong first, else ok."""
        outcome, reason = self._first or (Outcome.OK, "")
        if self._lost:
            outcome, reason = Outcome.LOST, self._lost
        elif outcome is Outcome.OK and self._is_silent():
            outcome, reason = Outcome.FAILED, NO_RATE
        ends = [self._ends[node] for node in self.nodes if node in self._ends]
        skews = {
            key: max((end[key] for end in ends if end[key] is not None), default=None)
            for key in ("start_skew_ms", "begin_skew_ms")
        }
        processes = [process for end in ends for process in wire.processes_of(end)]
        return LaunchState(self.launch.repeat, outcome, reason, **skews, processes=processes,
                           nodes=self.nodes)  # fmt: skip
