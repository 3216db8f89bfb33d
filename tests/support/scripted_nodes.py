"""A leader in a thread of its own, and nodes that do what a test tells them."""

import json
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.dispatch import wire
from milabench_ddp.dispatch.channel import Channel
from milabench_ddp.dispatch.leader import Leader
from milabench_ddp.events import Outcome
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.results.planfile import RunPlan
from milabench_ddp.results.points import read_point
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import QUICK, end, node

SOON = 10.0  # seconds within which what is awaited must come


class Told:
    """An onlooker that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun: list[tuple[str, tuple[str, ...]]] = []
        self.ended: dict[str, tuple[str, str]] = {}

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        self.begun.append((name, tuple(nodes)))

    def end(self, name: str, outcome: str, reason: str) -> None:
        self.ended[name] = (str(outcome), reason)

    def say(self, text: str) -> None:
        self.said.append(text)


class FakeNode:
    """The agent's end of a channel: it says what a test makes it say, and beats until then."""

    def __init__(self, connection: socket.socket, rank: int, address: str, devices: int) -> None:
        self.rank, self.address, self.name = rank, address, f"n{rank}"
        self._node = node(rank, devices)
        self._connection = connection
        connection.settimeout(SOON)
        self._lines = connection.makefile("rb")
        self.ran: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._beats = threading.Event()

    def send(self, **message: Any) -> None:
        with self._lock:
            self._connection.sendall(json.dumps(message).encode() + b"\n")

    def hello(self, **more: Any) -> "FakeNode":
        values = {"rank": self.rank, "node": wire.of_node(self._node), "address": self.address}
        self.send(say="hello", **{**values, **more})
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def _beat(self) -> None:
        while not self._beats.wait(QUICK.beat):
            try:
                self.send(say="beat")
            except OSError:
                return

    def fall_silent(self) -> None:
        self._beats.set()

    def close(self) -> None:
        self.fall_silent()
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._connection.close()

    def next(self) -> dict[str, Any]:
        """The next order that is no sign of life; ``{"do": "gone"}`` at the end."""
        while line := self._lines.readline():
            message: dict[str, Any] = json.loads(line)
            if message["do"] == "ping":
                self.send(say="pong", id=message["id"])
            elif message["do"] != "beat":
                return message
        return {"do": "gone"}

    def hears(self, beats: int) -> None:
        """Wait until the leader has given so many signs of life, and nothing else."""
        for _ in range(beats):
            assert json.loads(self._lines.readline()) == {"do": "beat"}

    def order(self, do: str) -> dict[str, Any]:
        """The next order, which must be this one."""
        found = self.next()
        assert found["do"] == do, found
        return found

    def give_ports(self, ports: Sequence[int] = (29_001, 29_002)) -> dict[str, Any]:
        asked = self.order("ports")
        self.send(say="ports", id=asked["id"], ports=list(ports)[: asked["count"]])
        return asked

    def took(self, run: dict[str, Any], outcome: str = "ok", reason: str = "") -> None:
        tags = [".".join(process["tag"]) for process in run["processes"]]
        self.send(say="ended", id=run["id"], end=end(outcome, reason, tags=tags))

    def serve(self, seconds: float = 0.0) -> None:
        """Do whatever is asked, in a thread, until it is over."""
        threading.Thread(target=self._serve, args=(seconds,), daemon=True).start()

    def _serve(self, seconds: float) -> None:
        while (order := self.next())["do"] not in ("end", "gone"):
            if order["do"] == "ports":
                self.send(say="ports", id=order["id"], ports=[29_000 + i for i in range(9)])
            elif order["do"] == "run":
                self.ran.append(order)
                time.sleep(seconds)
                self.took(order)


class Led:
    """A leader that runs in a thread, and what a test needs of it."""

    def __init__(self, folder: Path, plan: RunPlan, expect: int, **options: Any) -> None:
        self.rundir = RunDir(folder)
        self.inbox, self.told = StopRequests(), Told()
        self._points: Sequence[Benchmark] = plan.benchmarks
        options = {"patience": QUICK, **options}
        self.leader = Leader(
            self.rundir, plan, plan.benchmarks, expect, self.inbox, self.told, **options
        )
        self.outcome: Outcome | None = None
        self.error: Exception | None = None
        self._nodes: list[FakeNode] = []
        self._server: socket.socket | None = None
        self._thread = threading.Thread(target=self._lead, daemon=True)

    def _lead(self) -> None:
        try:
            self.outcome = self.leader.run()
        except Exception as error:  # noqa: BLE001  (raised again where the test looks)
            self.error = error

    def start(self) -> "Led":
        self._thread.start()
        return self

    def node(self, rank: int, address: str = "", devices: int = 1) -> FakeNode:
        """One that was started for this leader; it has not said hello."""
        ours, theirs = socket.socketpair()
        fds = ours.fileno()
        self.leader.invite(f"n{rank}", Channel(fds, fds, ours.close))
        return self._kept(FakeNode(theirs, rank, address or f"10.0.0.{rank + 1}", devices))

    def listen(self) -> "Led":
        self._server = socket.create_server(("127.0.0.1", 0))
        self.leader.listen(self._server)
        return self

    def connect(self, rank: int, devices: int = 1) -> FakeNode:
        """One that comes by itself."""
        assert self._server is not None
        connection = socket.create_connection(self._server.getsockname()[:2])
        return self._kept(FakeNode(connection, rank, f"10.0.0.{rank + 1}", devices))

    def _kept(self, it: FakeNode) -> FakeNode:
        self._nodes.append(it)
        return it

    def join(self) -> Outcome:
        self._thread.join(SOON)
        assert not self._thread.is_alive(), (self.told.said, self.told.begun, self.told.ended)
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome

    def state(self, name: str) -> dict[str, Any]:
        found = read_point(self.rundir.path / name)
        assert found is not None
        return found

    def outcomes(self) -> dict[str, str]:
        found = {b.name: read_point(self.rundir.path / b.name) for b in self._points}
        return {name: state["outcome"] if state else "waiting" for name, state in found.items()}

    def close(self) -> None:
        for each in self._nodes:
            each.close()
        if self._thread.is_alive():
            self.inbox.stop()
            self._thread.join(SOON)
        if self._server is not None:
            self._server.close()
        self.inbox.close()
