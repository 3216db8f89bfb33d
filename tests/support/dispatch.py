"""Nodes, ends of launches, and a clock, for the tests of many nodes."""

from typing import Any

from milabench_ddp.dispatch.patience import Patience
from milabench_ddp.machine.devices import Cluster, Device, Node
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.results.planfile import RunPlan
from tests.support.launches import SITE, benchmark, njobs

# Quick where a test must wait, and long enough for a busy machine where it need not.
QUICK = Patience(beat=0.02, silence=10.0, join=10.0, follow=0.1, report=0.3, reconnect=10.0)


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def node(rank: int, devices: int = 1) -> Node:
    return Node(f"n{rank}", tuple(Device(i, str(i), "slot") for i in range(devices)), 2)


def launch(nodes: int = 2, *, jobs: int = 0, devices: int = 1, **changes: Any) -> Launch:
    """A launch over nodes; ``jobs`` torchruns on each, or per_gpu for 0."""
    if jobs:
        changes["plan"] = njobs(jobs)
    parts = tuple(node(rank, devices) for rank in range(nodes))
    return plan_launches(benchmark(**changes), Cluster("cpu", parts), SITE)[0]


def end(outcome: str = "ok", reason: str = "", *, tags: Any = (), rates: int = 5) -> dict[str, Any]:
    """What a node says at the end of its part."""
    return {
        "outcome": outcome,
        "reason": reason,
        "start_skew_ms": None,
        "begin_skew_ms": None,
        "processes": [
            {
                "tag": tag,
                "pid": 1,
                "returncode": 0,
                "outcome": outcome,
                "reason": reason,
                "started": 1.0,
                "ended": 2.0,
                "rates": rates,
            }
            for tag in tags
        ],
    }


def plan(*benchmarks: Any, nodes: int = 2, repeats: int = 1, **changes: Any) -> RunPlan:
    values = {"arch": "cpu", "gpus": 1, "grace": 0.2, "gpu_poll": 0.0, "site": SITE}
    return RunPlan(benchmarks=benchmarks, repeats=repeats, nodes=nodes, **{**values, **changes})
