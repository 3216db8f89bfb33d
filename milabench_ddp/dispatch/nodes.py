"""The nodes of a coordinator, as it sees them; and this host as the only one, in process."""

import select
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from ..errors import MilabenchError
from ..events import Event, Outcome
from ..launch.node_run import LaunchRunner, SampleRouter, device_monitor
from ..launch.stop_requests import StopRequests
from ..machine.devices import Node
from ..plan.launch import Launch
from ..results.run_dir import RunDir
from ..results.run_plan import RunPlan
from ..results.state import LaunchState
from ..results.write import DataHeader
from .protocol import FindPorts, FromAgent, LaunchEnded, Ports, StartLaunch, ToAgent


@dataclass
class NodeHandle:
    """One node: where it is, whether it lives, and what it runs."""

    rank: int
    node: Node
    address: str  # where the other nodes reach it
    send: Callable[[ToAgent], bool]
    benchmark: str | None = None  # what runs on it
    is_alive: bool = True

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.name

    @property
    def is_free(self) -> bool:
        """Whether it could run something."""
        return self.is_alive and self.benchmark is None


@dataclass(frozen=True)
class NodeLost:
    """A node is gone; the reason follows its name: ``lost its connection``."""

    reason: str


class Nodes(Protocol):
    """The nodes of one coordinator: this host in process, or agents behind pipes."""

    def __enter__(self) -> Self:
        """Begin to hear them."""

    def __exit__(self, *exception: object) -> None:
        """Tell them that nothing more will be asked, and let them go."""

    def __getitem__(self, rank: int) -> NodeHandle:
        """The node of this rank."""

    @property
    def alive(self) -> Sequence[int]:
        """The ranks of the nodes that can be used."""

    @property
    def free(self) -> Sequence[int]:
        """Those of them on which nothing runs."""

    @property
    def is_gathering(self) -> bool:
        """Whether nodes that have never been there are still waited for."""

    @property
    def may_grow(self) -> bool:
        """Whether more nodes may come, or come back, than are there now."""

    def receive(self, timeout: float) -> Iterator[tuple[NodeHandle, FromAgent | NodeLost]]:
        """The messages of living nodes, waiting for at most ``timeout`` seconds."""


class ThisHost:
    """A node without a connection: it answers while its coordinator listens.

    Args:
        node: this host.
        runner: runs its launches.
        requests: where requests to stop arrive, for the coordinator and for the launch alike.
        emit: gets each event of the launches.
    """

    def __init__(
        self,
        node: Node,
        runner: LaunchRunner,
        requests: StopRequests,
        emit: Callable[[Event], None],
    ) -> None:
        self._runner, self._requests, self._emit = runner, requests, emit
        self._asked: list[ToAgent] = []
        self._handle = NodeHandle(0, node, "127.0.0.1", self._ask)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing runs on when nobody listens."""

    def __getitem__(self, rank: int) -> NodeHandle:
        return [self._handle][rank]

    @property
    def alive(self) -> list[int]:
        """Always there."""
        return [0]

    @property
    def free(self) -> list[int]:
        """Whether nothing runs here."""
        return [0] if self._handle.is_free else []

    is_gathering = False
    may_grow = False

    def _ask(self, message: ToAgent) -> bool:
        self._asked.append(message)
        return True

    def receive(self, timeout: float) -> Iterator[tuple[NodeHandle, FromAgent | NodeLost]]:
        """Do what was asked, and answer.

        A ``StopLaunch`` comes too late: the launch itself has heard the request.
        """
        asked, self._asked = self._asked, []
        if not asked:
            select.select([self._requests.fd], [], [], timeout)
        for message in asked:
            match message:
                case FindPorts(launch, count):
                    yield self._handle, Ports(launch, free_ports(count))
                case StartLaunch(id, launch):
                    state = run_part(self._runner, launch, self._requests, self._emit)
                    yield self._handle, LaunchEnded(id, state)


def run_part(
    runner: LaunchRunner, launch: Launch, requests: StopRequests, emit: Callable[[Event], None]
) -> LaunchState:
    """Run a node's part of a launch; what hinders it, a full disk for example, is its failure."""
    try:
        return runner.run(launch, requests, emit)
    except MilabenchError as error:
        return LaunchState(launch.repeat, Outcome.FAILED, str(error), None, None)


def free_ports(count: int) -> tuple[int, ...]:
    """TCP ports of this host that are free now, no two the same."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("", 0))
        return tuple(each.getsockname()[1] for each in sockets)
    finally:
        for each in sockets:
            each.close()


@contextmanager
def launch_runner(
    run: RunDir, plan: RunPlan, node: Node, meta: Mapping[str, Any], environ: Mapping[str, str]
) -> Iterator[LaunchRunner]:
    """What runs the launches of this node, while its devices are sampled.

    Args:
        run: where the result files go.
        plan: of the run.
        node: this one.
        meta: the provenance that each result file begins with.
        environ: the environment to which each process's own is added.
    """
    router = SampleRouter()
    header = DataHeader(run.name, plan.arch, meta)
    with device_monitor(plan.arch, node.devices, plan.gpu_poll, router):
        yield LaunchRunner(run, header, router, environ, plan.grace)
