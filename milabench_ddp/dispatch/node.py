"""The agent of one of several nodes: does what its leader says, and writes this node's files.

When it loses its leader it ends what it runs: nothing is left behind on a node that nobody watches.
"""

import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..config.schema import Benchmark
from ..errors import MilabenchError
from ..events import Outcome
from ..launch.node_run import LaunchRunner
from ..launch.stop_requests import StopRequests
from ..plan.launch import Launch
from ..results.state import LaunchState
from . import wire
from .channel import Channel, Message
from .heart import beating
from .patience import Patience


class LeaderLostError(Exception):
    """The leader is gone; the message says how that was noticed."""


class NodeAgent:
    """Serves one leader at a time; a thread reads what it says, the main thread does it.

    Signs of life come from a third, which no disk and no launch holds up.
    """

    def __init__(
        self,
        benchmarks: Mapping[str, Benchmark],
        runner: LaunchRunner,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._benchmarks, self._runner, self._patience = benchmarks, runner, patience
        self._clock = clock
        self._orders: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # of the three that follow
        self._inbox: StopRequests | None = None  # of the launch under way
        self._launch = ""  # its id
        self._stopped: dict[str, str] = {}  # launches to stop that have not begun, and why
        self._stops = 0  # how often this process itself was asked to stop
        self._heard = 0.0
        self._lost = ""

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to end."""
        return self._stops > 0

    def stop(self) -> None:
        """Ask it to end; a signal handler of the main thread may call it."""
        self._stops += 1
        if self._inbox is not None:
            self._inbox.stop()
        else:
            self._orders.put({"do": "end"})

    def serve(self, channel: Channel, hello: Mapping[str, Any]) -> None:
        """Do what the leader says, until it says that this is all.

        Raises:
            LeaderLostError: it broke off.
        """
        self._heard, self._lost = self._clock(), ""
        self._orders = queue.SimpleQueue()
        if self._stops:  # while there was no leader
            return
        channel.send(say="hello", **hello)
        threading.Thread(target=self._listen, args=(channel, self._orders), daemon=True).start()
        with beating(lambda: self._sign_of_life(channel), self._patience.beat):
            self._obey(channel)

    def _obey(self, channel: Channel) -> None:
        while (order := self._orders.get()) is not None and not self._lost:
            match order.get("do"):
                case "end":
                    return
                case "ping":  # of a leader that had taken this node for gone
                    channel.send(say="pong", id=order["id"])
                case "ports":
                    channel.send(say="ports", id=order["id"], ports=free_ports(order["count"]))
                case "run":
                    self._run(channel, order)
                    if self._stops:
                        return
        raise LeaderLostError(self._lost or "it closed the connection")

    def _listen(self, channel: Channel, orders: "queue.SimpleQueue[Message | None]") -> None:
        """The reading thread: what must not wait for the launch under way is done here."""
        while (messages := channel.receive()) is not None:
            self._heard = self._clock()
            for message in messages:
                if message.get("do") == "stop":
                    hard = bool(message.get("hard"))
                    self._stop_launch(str(message["why"]), hard=hard, launch=message.get("id"))
                elif message.get("do") != "beat":
                    orders.put(message)
        orders.put(None)
        if orders is self._orders:  # else there is a new leader by now
            self._stop_launch("its leader is gone", hard=False)

    def _stop_launch(self, why: str, *, hard: bool, launch: str | None = None) -> None:
        """Stop the launch of this id, also one that has not begun; without an id, the present."""
        with self._lock:
            if launch is not None and launch != self._launch:
                self._stopped[launch] = why
            elif self._inbox is not None:
                for _ in range(1 + hard):
                    self._inbox.stop(why)

    def _sign_of_life(self, channel: Channel) -> None:
        """Give one, and miss those of the leader."""
        channel.send(say="beat")
        if not self._lost and self._clock() - self._heard > self._patience.silence:
            self._lost = f"it gave no sign of life for {self._patience.silence:g} s"
            self._stop_launch(f"its leader is gone: {self._lost}", hard=False)
            self._orders.put(None)

    def _run(self, channel: Channel, order: Message) -> None:
        launch = Launch(
            self._benchmarks[order["benchmark"]],
            order["repeat"],
            tuple(wire.process(each) for each in order["processes"]),
            order["nodes"],
        )
        inbox = StopRequests()
        with self._lock:
            self._inbox, self._launch = inbox, order["id"]
            if order["id"] in self._stopped:
                inbox.stop(self._stopped[order["id"]])
        if self._stops:  # just before there was an inbox to tell it
            inbox.stop()
        try:
            end = wire.of_end(self._runner.run(launch, inbox, lambda _: None))
        except MilabenchError as error:  # the disk is full, for example
            end = wire.of_end(LaunchState(launch.repeat, Outcome.FAILED, str(error), None, None))
        finally:
            with self._lock:
                self._inbox, self._launch = None, ""
            inbox.close()
        channel.send(say="ended", id=order["id"], end=end)


def free_ports(count: int) -> list[int]:
    """TCP ports of this host that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
