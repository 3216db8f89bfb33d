"""Leads the node agents of one allocation through the points of a sweep.

It gives points to free nodes and keeps each point's state on disk. What ran on a node that is lost
is lost with it; the rest goes on.
"""

import socket
import time
from collections.abc import Callable, Sequence

from ..config.schema import Benchmark
from ..events import Outcome
from ..launch.stop_requests import StopRequests
from ..results.planfile import RunPlan
from ..results.points import save_point
from ..results.run_dir import RunDir
from ..results.runfile import BenchmarkState
from .channel import Channel, Message
from .heart import beating
from .onlooker import Onlooker
from .patience import Patience
from .peer import Peer
from .point import Point
from .roster import Roster
from .schedule import pick


class Leader:
    """Runs points on nodes that come, and may go.

    Args:
        rundir: where the states of the points go.
        plan: what the run is to do.
        points: those of its benchmarks that are to be run here.
        expect: how many nodes come.
        inbox: where requests to stop arrive.
        onlooker: is told what happens.
        token: what a node must say to be let in over the network.
        cause: why it was asked to stop, and what a point is called that it ends.
    """

    def __init__(
        self,
        rundir: RunDir,
        plan: RunPlan,
        points: Sequence[Benchmark],
        expect: int,
        inbox: StopRequests,
        onlooker: Onlooker,
        token: str = "",
        patience: Patience | None = None,
        cause: Callable[[], tuple[Outcome, str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rundir, self._plan, self._inbox, self._onlooker = rundir, plan, inbox, onlooker
        self._patience, self._clock = patience or Patience(), clock
        self._waiting = {benchmark.name: benchmark for benchmark in points}
        self._running: dict[str, Point] = {}
        self._outcomes: list[Outcome] = []
        self._nodes = Roster(rundir, expect, token, self._patience, onlooker, self._lose, clock)
        self._nodes.wake_by(inbox.fd)
        self._cause = cause or (lambda: (Outcome.CANCELLED, inbox.reason))
        self.stopped_as: tuple[Outcome, str] | None = None  # what ends that a request to stop ends

    @property
    def has_lost_nodes(self) -> bool:
        """Whether a node that was there is gone."""
        return self._nodes.has_lost

    def listen(self, server: socket.socket) -> None:
        """Let nodes in by this socket."""
        self._nodes.listen(server)

    def invite(self, name: str, channel: Channel) -> None:
        """The channel of a node that was started for this; it counts once it has said hello."""
        self._nodes.invite(name, channel)

    def run(self) -> Outcome:
        """Run all points: ok, failed where any did not end ok, or cancelled."""
        try:
            with beating(self._nodes.beat, self._patience.beat):
                while self._waiting or self._running:
                    self._step()
        finally:
            for point in self._running.values():
                point.leave()  # after an error; its nodes end it
            self._nodes.dismiss()
        if self._inbox.stops:
            return Outcome.CANCELLED
        return Outcome.OK if set(self._outcomes) <= {Outcome.OK} else Outcome.FAILED

    def _step(self) -> None:
        """Wait until something happens, and do what follows from it."""
        for peer, message in self._nodes.hear(self._patience.beat):
            self._heed(peer, message)
        self._inbox.clear()
        if self._inbox.stops:
            self._stop()
        for point in list(self._running.values()):
            point.tick()
            if point.has_ended:
                self._ended(point)
        if not self._inbox.stops:
            self._begin()

    def _heed(self, peer: Peer, message: Message) -> None:
        point = self._running.get(peer.point or "")
        match message:
            case {"say": "ports", "id": str(launch), "ports": list(ports)} if point:
                point.begin(launch, ports)
            case {"say": "ended", "id": str(launch), "end": dict(end)} if point:
                point.ended(peer, launch, end)

    def _lose(self, peer: Peer, why: str) -> None:
        if peer.point in self._running:
            self._running[peer.point].lose(peer, why)

    def _begin(self) -> None:
        """Start what can be started; give up what never can."""
        nodes = self._nodes
        if not self._waiting or nodes.is_gathering:
            return
        free = nodes.free
        if not free and self._running:
            return
        sizes = {name: self._size(b) for name, b in self._waiting.items()}
        for name, ranks in pick(sizes, free, nodes.alive):
            self._start(self._waiting.pop(name), [nodes[rank] for rank in ranks])
        if not self._running and not nodes.may_grow:
            alive = len(nodes.alive)
            for name in [n for n in self._waiting if sizes[n] > alive]:
                self._give_up(self._waiting.pop(name), sizes[name], alive)

    def _size(self, benchmark: Benchmark) -> int:
        return benchmark.num_machines or self._plan.nodes

    def _start(self, benchmark: Benchmark, peers: Sequence[Peer]) -> None:
        point = Point(benchmark, peers, self._rundir, self._plan, self._patience, self._clock)
        self._running[benchmark.name] = point
        limit = benchmark.max_duration
        self._onlooker.begin(benchmark.name, [peer.name for peer in peers], limit)
        point.start()
        if point.has_ended:
            self._ended(point)

    def _ended(self, point: Point) -> None:
        del self._running[point.name]
        self._outcomes.append(Outcome(point.state.outcome))
        self._onlooker.end(point.name, point.state.outcome, point.state.reason)

    def _give_up(self, benchmark: Benchmark, size: int, alive: int) -> None:
        there = "only 1 is" if alive == 1 else f"only {alive} are" if alive else "none is"
        why = f"it needs {size} nodes, and {there} left of {self._plan.nodes}"
        state = BenchmarkState(benchmark.name, Outcome.LOST, why, ended=time.time())
        save_point(self._rundir.script(benchmark.name).parent, state)
        self._outcomes.append(Outcome.LOST)
        self._onlooker.end(benchmark.name, Outcome.LOST, why)

    def _stop(self) -> None:
        """What runs is ended, what waits stays waiting."""
        self._waiting.clear()
        self.stopped_as = self.stopped_as or self._cause()
        for point in self._running.values():
            if not point.state.cut_short:
                point.cut_short(*self.stopped_as)
            point.stop(self.stopped_as[1], hard=self._inbox.stops > 1)
