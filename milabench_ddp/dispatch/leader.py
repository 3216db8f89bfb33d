"""Leads the node agents of one allocation through the points of a sweep.

One thread, one selector. It gives points to free nodes, keeps each point's state on disk, and takes
a node that gives no sign of life for gone: what ran there is lost, the rest goes on without it, and
a node that comes back is used again.
"""

import selectors
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ..config.schema import Benchmark
from ..events import Outcome
from ..launch.inbox import Inbox
from ..results.planfile import RunPlan
from ..results.points import save_point
from ..results.rundir import RunDir
from ..results.runfile import BenchmarkState
from . import wire
from .channel import Channel, Message
from .onlooker import Onlooker
from .patience import Patience
from .peer import Peer
from .point import Point
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
        inbox: Inbox,
        onlooker: Onlooker,
        token: str = "",
        patience: Patience | None = None,
        cause: Callable[[], tuple[Outcome, str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rundir, self._plan, self._inbox, self._onlooker = rundir, plan, inbox, onlooker
        self._expect, self._token, self._clock = expect, token, clock
        self._patience = patience or Patience()
        self._waiting = {benchmark.name: benchmark for benchmark in points}
        self._running: dict[str, Point] = {}
        self._peers: dict[int, Peer] = {}
        self._invited: dict[int, str] = {}  # by descriptor: nodes that have not said hello yet
        self._listens = False
        self._outcomes: list[Outcome] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(inbox.fd, selectors.EVENT_READ, None)
        self._until = clock() + self._patience.join  # nodes that are not there yet may still come
        self._cause = cause or (lambda: (Outcome.CANCELLED, inbox.reason))
        self.stopped_as: tuple[Outcome, str] | None = None  # what ends that a request to stop ends

    @property
    def has_lost_nodes(self) -> bool:
        """Whether a node that was there is gone."""
        return not all(peer.alive for peer in self._peers.values())

    def listen(self, server: socket.socket) -> None:
        """Let nodes in by this socket."""
        self._listens = True
        self._selector.register(server, selectors.EVENT_READ, server)

    def invite(self, name: str, channel: Channel) -> None:
        """The channel of a node that was started for this; it counts once it has said hello."""
        self._invited[channel.fd] = name
        self._welcome(channel)

    def _welcome(self, channel: Channel) -> None:
        self._selector.register(channel.fd, selectors.EVENT_READ, channel)

    def run(self) -> Outcome:
        """Run all points: ok, failed where any did not end ok, or cancelled."""
        try:
            next_beat = self._clock()
            while self._waiting or self._running:
                now = self._clock()
                if now >= next_beat:
                    self._beat(now)
                    next_beat = now + self._patience.beat
                for key, _ in self._selector.select(max(0.0, next_beat - now)):
                    self._handle(key)
                if self._inbox.stops:
                    self._stop()
                for point in list(self._running.values()):
                    point.tick()
                    if point.has_ended:
                        self._ended(point)
                if not self._inbox.stops:
                    self._begin()
        finally:
            self._leave()
        if self._inbox.stops:
            return Outcome.CANCELLED
        return Outcome.OK if set(self._outcomes) <= {Outcome.OK} else Outcome.FAILED

    def _leave(self) -> None:
        """Nobody is led any more; what still runs, after an error, is left to its nodes to end."""
        for point in self._running.values():
            point.leave()
        for peer in self._peers.values():
            peer.channel.send(do="end")
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Channel):
                key.data.close()
        self._selector.close()

    def _handle(self, key: selectors.SelectorKey) -> None:
        match key.data:
            case None:
                list(self._inbox.take())
            case socket.socket() as server:
                with suppress(OSError):  # it hung up before it was let in
                    connection, _ = server.accept()
                    self._welcome(Channel.of_socket(connection, self._patience.silence))
            case Channel() as channel:
                messages = channel.receive()
                for message in messages or ():
                    if not channel.closed:
                        self._hear(channel, message)
                if messages is None:
                    self._forget(channel)

    def _hear(self, channel: Channel, message: Message) -> None:
        peer = next((p for p in self._peers.values() if p.channel is channel), None)
        if peer is None:
            self._meet(channel, message)
            return
        if not peer.alive:
            self._greet(peer, message)
            return
        peer.heard = self._clock()
        point = self._running.get(peer.point or "")
        match message:
            case {"say": "ports", "id": str(launch), "ports": list(ports)} if point:
                point.begin(launch, ports)
            case {"say": "ended", "id": str(launch), "end": dict(end)} if point:
                point.ended(peer, launch, end)
            case {"say": "problem", "text": str(text)}:
                self._onlooker.say(f"{peer.name}: {text}")

    def _greet(self, peer: Peer, message: Message) -> None:
        """What a lost node says may have been on its way for long: it is back when it answers."""
        if not peer.ping:
            peer.ping = uuid.uuid4().hex
            peer.channel.send(do="ping", id=peer.ping)
        elif message.get("say") == "pong" and message.get("id") == peer.ping:
            peer.alive, peer.ping, peer.heard = True, "", self._clock()
            self._onlooker.say(f"{peer.name} is back")

    def _meet(self, channel: Channel, message: Message) -> None:
        match message:
            case {"say": "hello"} if message.get("token", "") == self._token:
                self._admit(channel, message)
            case {"say": "problem", "text": str(text)}:
                self._onlooker.say(f"{self._invited.get(channel.fd, 'a node')}: {text}")
                self._forget(channel)
            case _:
                self._forget(channel)

    def _admit(self, channel: Channel, message: Message) -> None:
        rank = int(message["rank"])
        if rank in self._peers:
            self._lose(self._peers[rank], "lost its connection")
            self._onlooker.say(f"{self._peers[rank].name} is back")
        self._invited.pop(channel.fd, None)
        node = wire.node(message["node"])
        self._peers[rank] = Peer(rank, channel, node, message["address"], self._clock())

    def _forget(self, channel: Channel) -> None:
        """The other side is gone, or was never one of ours."""
        if name := self._invited.pop(channel.fd, ""):
            self._expect -= 1
            log = self._rundir.node_log(name)
            self._onlooker.say(f"{name} does not come: {_last_line(log)}(see {log})")
        self._selector.unregister(channel.fd)
        channel.close()
        for peer in self._peers.values():
            if peer.channel is channel:
                self._lose(peer, "is gone: its connection broke")

    def _lose(self, peer: Peer, why: str) -> None:
        if not peer.alive:
            return
        peer.alive, peer.ping = False, ""
        self._until = self._clock() + self._patience.reconnect
        self._onlooker.say(f"{peer.name} {why}")
        if peer.point in self._running:
            self._running[peer.point].lose(peer, why)
        peer.point = None

    def _beat(self, now: float) -> None:
        for peer in self._peers.values():
            peer.channel.send(do="beat")
            if now - peer.heard > self._patience.silence:
                self._lose(peer, f"has given no sign of life for {self._patience.silence:g} s")

    def _may_come(self) -> bool:
        """Whether more nodes may come, or come back, than are there now."""
        silent = any(not peer.alive and not peer.channel.closed for peer in self._peers.values())
        return self._clock() < self._until and (self._listens or bool(self._invited) or silent)

    def _begin(self) -> None:
        """Start what can be started; give up what never can."""
        if len(self._peers) < self._expect and self._may_come():
            return
        alive = [rank for rank, peer in self._peers.items() if peer.alive]
        free = [rank for rank in alive if self._peers[rank].is_free]
        sizes = {name: self._size(b) for name, b in self._waiting.items()}
        for name, ranks in pick(sizes, free, alive):
            self._start(self._waiting.pop(name), [self._peers[rank] for rank in ranks])
        if self._waiting and not self._running and not self._may_come():
            for name in [n for n in self._waiting if sizes[n] > len(alive)]:
                self._give_up(self._waiting.pop(name), sizes[name], len(alive))

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


def _last_line(path: Path) -> str:
    """What a node said last before it ended, and a blank; nothing where it said nothing."""
    with suppress(OSError):
        lines = path.read_text(errors="backslashreplace").strip().splitlines()
        return f"{lines[-1].strip()} " if lines else ""
    return ""
