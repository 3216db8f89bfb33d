"""This host as a node of a run: in process as the only one, or for its agent."""

import os
import random
import select
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain

from msgspec.structs import replace

from ..errors import DispatchError, contained, may_pass, reason_of
from ..events import Clock, Emit, Outcome
from ..launch.evidence_keeper import EvidenceKeeper
from ..launch.node_run import LaunchRunner, SampleRouter, device_monitor
from ..launch.stop_requests import StopRequests
from ..launch.supervisor import sweep
from ..machine.detect import detect, partition
from ..machine.devices import Node
from ..plan.launch import Launch
from ..results.read_state import read_benchmark
from ..results.run_dir import RunDir
from ..results.state import LaunchState
from ..results.write import DataHeader
from .nodes import NodeHandle, Nodes, Said
from .protocol import (
    EvidenceKept,
    FindPorts,
    KeepEvidence,
    LaunchEnded,
    Ports,
    StartLaunch,
    ToAgent,
)
from .run_context import RunPlan


class ThisHost(Nodes):
    """This host as the only node, without an agent: it works while its coordinator receives.

    Args:
        requests: where requests to stop arrive, for the coordinator and for the launch alike.
    """

    def __init__(
        self,
        node: Node,
        runner: LaunchRunner,
        requests: StopRequests,
        emit: Emit,
    ) -> None:
        self._runner, self._requests, self._emit = runner, requests, emit
        self._asked: list[ToAgent] = []
        self._handle = NodeHandle(0, node, "127.0.0.1", self._ask)
        super().__init__([self._handle])

    def beside(self, run: RunDir, emit: Emit) -> "ThisHost":
        """The same host for another run, while nothing of the first one runs here."""
        return ThisHost(self._handle.node, self._runner.beside(run), self._requests, emit)

    def _ask(self, message: ToAgent) -> bool:
        self._asked.append(message)
        return True

    def receive(self, timeout: float) -> Said:
        """Do what the coordinator asked, and answer.

        A ``StopLaunch`` is ignored: the launch itself has seen the request to stop.
        """
        asked, self._asked = self._asked, []
        if not asked:
            select.select([self._requests.fd], [], [], timeout)
        for message in asked:
            match message:
                case FindPorts():
                    yield self._handle, found_ports(message)
                case StartLaunch(id, launch):
                    state = run_part(self._runner, launch, self._requests, self._emit)
                    yield self._handle, LaunchEnded(id, state)
                case KeepEvidence(files):
                    yield self._handle, kept_evidence(self._runner, files)


def run_part(
    runner: LaunchRunner, launch: Launch, requests: StopRequests, emit: Emit
) -> LaunchState:
    """Run a node's part of a launch; an error, such as a full disk, makes it fail."""
    errors: list[Exception] = []
    with contained(errors.append):
        return runner.run(launch, requests, emit)
    return _failed_part(launch.repeat, errors[0])


def kept_evidence(runner: LaunchRunner, files: Mapping[str, str]) -> EvidenceKept:
    if runner.keeper is None:
        return EvidenceKept("it keeps no evidence")
    runner.keeper.keep("end", "at the end of the run", files)
    return EvidenceKept("; ".join(runner.keeper.problems))


def _failed_part(repeat: int | None, error: Exception) -> LaunchState:
    reason, is_cut_off = reason_of(error), may_pass(error)
    return LaunchState(repeat, Outcome.FAILED, reason, is_cut_off=is_cut_off)


def own_node(
    plan: RunPlan, rank: int = 0, parts: int = 0, name: str | None = None
) -> tuple[Node, int]:
    """This host as a node of a run, and how many GPUs it offers; 0 for CPU slots or a part of it.

    Args:
        parts: how many nodes share this host; 0 if it is one node.
    """
    if parts:
        return partition(plan.arch, plan.gpus or 1, rank, parts, os.environ), 0
    found = detect(plan.arch, plan.gpus, os.environ)
    node = found.nodes[0]
    return replace(node, name=name or node.name), found.visible


def found_ports(asked: FindPorts) -> Ports | LaunchEnded:
    errors: list[Exception] = []
    with contained(errors.append):
        return Ports(asked.launch, free_ports(asked.count, asked.among))
    return LaunchEnded(asked.launch, _failed_part(None, errors[0]))


def free_ports(count: int, among: tuple[int, int] | None = None) -> tuple[int, ...]:
    first, last = among or (0, 0)
    # in any order: another launch on this host looks at the same time
    ports = random.sample(range(first, last + 1), last - first + 1) if among else [0] * count
    found: list[int] = []
    with ExitStack() as stack:
        for port in ports:
            each = stack.enter_context(socket.socket())
            with suppress(OSError):
                each.bind(("", port))
                found.append(each.getsockname()[1])
            if len(found) == count:
                return tuple(found)
    where = f"of the `rendezvous_ports` {first}-{last}" if among else "of this host"
    raise DispatchError(f"{len(found)} ports {where} are free, and {count} are needed")


def address_of(interface: str) -> str:
    """The IPv4 address of this host on one of its interfaces."""
    import psutil  # few profiles name one

    for each in psutil.net_if_addrs().get(interface, ()):
        if each.family is socket.AF_INET:
            return str(each.address)
    raise DispatchError(
        f"`network_interface: {interface}` has no IPv4 address: `ip addr` lists all"
    )


@contextmanager
def launch_runner(
    run: RunDir,
    plan: RunPlan,
    node: Node,
    meta: Mapping[str, object],
    environ: Mapping[str, str],
    clock: Clock = time.monotonic,
) -> Iterator[LaunchRunner]:
    """A runner for the launches of this node; its devices are sampled inside the block."""
    sweep()
    router = SampleRouter()
    keeper = EvidenceKeeper(run, node.name)
    header = DataHeader(run.name, plan.arch, meta)
    states = [read_benchmark(run, each.name) for each in plan.benchmarks]
    launches = [launch for state in states if state for launch in state.launches]
    survivors = chain.from_iterable(launch.survivors for launch in launches)
    with device_monitor(plan.arch, node.devices, plan.gpu_poll, router):
        yield LaunchRunner(run, header, router, environ, plan.grace, clock, survivors, keeper)
