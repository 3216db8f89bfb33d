"""Nodes, launches and their ends, connections, and a clock, for tests of several nodes."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from milabench_ddp.dispatch.protocol import FromAgent, Timeouts, ToAgent
from milabench_ddp.dispatch.run_context import RunPlan
from milabench_ddp.dispatch.transport import Connection, Stream
from milabench_ddp.events import Outcome
from milabench_ddp.machine.devices import Cluster, Device, Node
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import LaunchState, ProcessState
from tests.support.launches import SITE, benchmark, njobs

# Frequent heartbeats, but timeouts long enough for a busy machine.
QUICK = Timeouts(heartbeat=0.02, silence=10.0, join=10.0, reconnect=10.0)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def node(rank: int, devices: int = 1) -> Node:
    return Node(f"n{rank}", tuple(Device(i, str(i), "slot") for i in range(devices)), 2)


def launch(nodes: int = 2, *, jobs: int = 0, devices: int = 1, **changes: Any) -> Launch:
    """A launch over nodes with ``jobs`` torchruns on each node; ``per_gpu`` if that is 0."""
    if jobs:
        changes.setdefault("plan", njobs(jobs))
    parts = tuple(node(rank, devices) for rank in range(nodes))
    return plan_launches(benchmark(**changes), Cluster("cpu", parts), SITE)[0]


def end(
    outcome: str = "ok",
    reason: str = "",
    *,
    tags: Iterable[str] = (),
    rates: Iterable[int] = (),
) -> LaunchState:
    """How a node's part of a launch ended; ``rates`` counts the rates per process, 5 by default."""
    verdict = Outcome(outcome)
    counts = list(rates)
    processes = []
    for k, tag in enumerate(tags):
        count = counts[k] if counts else 5
        told = RateCounts(usable=count, ranks={0} if count else set())
        processes.append(ProcessState(tag, 1, 0, verdict, reason, 1.0, 2.0, told))
    return LaunchState(None, verdict, reason, tuple(processes))


def plan(*benchmarks: Any, nodes: int = 2, repeats: int = 1, **changes: Any) -> RunPlan:
    values = {"arch": "cpu", "gpus": 1, "grace": 0.2, "gpu_poll": 0.0, "site": SITE}
    return RunPlan(benchmarks=benchmarks, repeats=repeats, nodes=nodes, **{**values, **changes})


def connections(timeout: float = 20.0) -> tuple[Connection[FromAgent], Connection[ToAgent]]:
    """Both ends of a connection over two pipes: the coordinator's and the agent's."""
    from_agent, to_coordinator = os.pipe()
    from_coordinator, to_agent = os.pipe()

    def closing(*descriptors: int) -> Callable[[], None]:
        def close() -> None:
            for each in descriptors:
                os.close(each)

        return close

    ours = closing(from_agent, to_agent)
    theirs = closing(from_coordinator, to_coordinator)
    return (
        Connection(Stream(from_agent, to_agent, ours, timeout), FromAgent),
        Connection(Stream(from_coordinator, to_coordinator, theirs, timeout), ToAgent),
    )
