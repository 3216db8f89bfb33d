"""The nodes of one leader: who has come, who is lost, who is back, and what they say.

A node that gives no sign of life is taken for gone. One that comes back, over a new connection or
over the old one, is used again.
"""

import selectors
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ..results.run_dir import RunDir
from . import wire
from .channel import Channel, Message
from .onlooker import Onlooker
from .patience import Patience
from .peer import Peer

REST = 1e-4  # seconds for each node, between two times that the nodes are heard


class Roster:
    """All but ``beat`` is for one thread.

    Args:
        rundir: where the nodes that were started for this have their logs.
        expect: how many nodes come.
        token: what a node must say to be let in.
        patience: how long they are waited for.
        onlooker: is told who comes and who goes.
        lost: is called with a node that is lost, and why.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        rundir: RunDir,
        expect: int,
        token: str,
        patience: Patience,
        onlooker: Onlooker,
        lost: Callable[[Peer, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._rundir, self._expect, self._token = rundir, expect, token
        self._patience, self._onlooker, self._lost, self._clock = patience, onlooker, lost, clock
        self._peers: dict[int, Peer] = {}  # by rank
        self._speakers: dict[Channel, Peer] = {}  # the same, by where they are heard
        self._invited: dict[int, str] = {}  # by descriptor: nodes that have not said hello yet
        self._listens = False
        self._selector = selectors.DefaultSelector()
        self._until = clock() + patience.join  # nodes that are not there yet may still come

    # Who may come.

    def listen(self, server: socket.socket) -> None:
        """Let nodes in by this socket."""
        self._listens = True
        self._selector.register(server, selectors.EVENT_READ, server)

    def invite(self, name: str, channel: Channel) -> None:
        """The channel of a node that was started for this; it counts once it has said hello."""
        self._invited[channel.fd] = name
        self._welcome(channel)

    def wake_by(self, fd: int) -> None:
        """Let ``hear`` return when this descriptor is readable, which somebody else reads."""
        self._selector.register(fd, selectors.EVENT_READ, None)

    # Who is there.

    def __getitem__(self, rank: int) -> Peer:
        return self._peers[rank]

    @property
    def alive(self) -> list[int]:
        """The ranks of the nodes that can be used."""
        return [rank for rank, peer in self._peers.items() if peer.alive]

    @property
    def free(self) -> list[int]:
        """Those of them on which nothing runs."""
        return [rank for rank, peer in self._peers.items() if peer.is_free]

    @property
    def has_lost(self) -> bool:
        """Whether a node that was there is gone."""
        return len(self.alive) < len(self._peers)

    @property
    def is_gathering(self) -> bool:
        """Whether nodes that have never been there are still waited for."""
        return len(self._peers) < self._expect and self.may_grow

    @property
    def may_grow(self) -> bool:
        """Whether more nodes may come, or come back, than are there now."""
        silent = any(not peer.alive and not peer.channel.closed for peer in self._peers.values())
        return self._clock() < self._until and (self._listens or bool(self._invited) or silent)

    # What they say.

    def beat(self) -> None:
        """Give all a sign of life; any thread may."""
        for peer in list(self._peers.values()):
            peer.channel.send(do="beat")

    def hear(self, timeout: float) -> Iterator[tuple[Peer, Message]]:
        """What living nodes say of their work, waiting for at most ``timeout`` seconds.

        Only when all that lay there was read, silent nodes are given up: a leader that was kept
        from listening finds what was said meanwhile.
        """
        ready = self._selector.select(timeout)
        if ready:  # the beats of many nodes are heard together: the leader shares its node's cores
            time.sleep(len(self._peers) * REST)
            ready = self._selector.select(0)
        for key, _ in ready:
            match key.data:
                case socket.socket() as server:
                    with suppress(OSError):  # it hung up before it was let in
                        connection, _ = server.accept()
                        self._welcome(Channel.of_socket(connection, self._patience.silence))
                case Channel() as channel:
                    yield from self._read(channel)
        now = self._clock()
        for peer in self._peers.values():
            if now - peer.heard > self._patience.silence:
                self._lose(peer, f"has given no sign of life for {self._patience.silence:g} s")

    def _read(self, channel: Channel) -> Iterator[tuple[Peer, Message]]:
        messages = channel.receive()
        for message in messages or ():
            peer = self._speakers.get(channel)
            if channel.closed:  # it is none of ours: the rest is not heard
                return
            if peer is None:
                self._meet(channel, message)
            elif not peer.alive:
                self._greet(peer, message)
            else:
                peer.heard = self._clock()
                if message.get("say") == "problem":
                    self._onlooker.say(f"{peer.name}: {message.get('text')}")
                else:
                    yield peer, message
        if messages is None:
            self._forget(channel)

    # Coming and going.

    def _welcome(self, channel: Channel) -> None:
        self._selector.register(channel.fd, selectors.EVENT_READ, channel)

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
        if (old := self._peers.get(rank)) is not None:
            self._lose(old, "lost its connection")
            self._onlooker.say(f"{old.name} is back")
            self._speakers.pop(old.channel, None)
        self._invited.pop(channel.fd, None)
        node = wire.node(message["node"])
        peer = Peer(rank, channel, node, message["address"], self._clock())
        self._peers[rank] = self._speakers[channel] = peer

    def _greet(self, peer: Peer, message: Message) -> None:
        """What a lost node says may have been on its way for long: it is back when it answers."""
        if not peer.ping:
            peer.ping = uuid.uuid4().hex
            peer.channel.send(do="ping", id=peer.ping)
        elif message.get("say") == "pong" and message.get("id") == peer.ping:
            peer.alive, peer.ping, peer.heard = True, "", self._clock()
            self._onlooker.say(f"{peer.name} is back")

    def _forget(self, channel: Channel) -> None:
        """The other side is gone, or was never one of ours."""
        if name := self._invited.pop(channel.fd, ""):
            self._expect -= 1
            log = self._rundir.node_log(name)
            self._onlooker.say(f"{name} does not come: {_last_line(log)}(see {log})")
        self._selector.unregister(channel.fd)
        channel.close()
        if (peer := self._speakers.pop(channel, None)) is not None:
            self._lose(peer, "is gone: its connection broke")

    def _lose(self, peer: Peer, why: str) -> None:
        if not peer.alive:
            return
        peer.alive, peer.ping = False, ""
        self._until = self._clock() + self._patience.reconnect
        self._onlooker.say(f"{peer.name} {why}")
        self._lost(peer, why)
        peer.point = None

    def dismiss(self) -> None:
        """Nothing more will be asked of them."""
        for peer in self._peers.values():
            peer.channel.send(do="end")
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Channel):
                key.data.close()
        self._selector.close()


def _last_line(path: Path) -> str:
    """What a node said last before it ended, and a blank; nothing where it said nothing."""
    with suppress(OSError):
        lines = path.read_text(errors="backslashreplace").strip().splitlines()
        return f"{lines[-1].strip()} " if lines else ""
    return ""
