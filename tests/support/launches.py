"""Small values that many tests need."""

import sys
from pathlib import Path
from typing import Any

from milabench_ddp.config.schema import Benchmark, PlanSpec
from milabench_ddp.machine.devices import Cluster, Device, Node
from milabench_ddp.plan.command_line import Site
from milabench_ddp.plan.launch import Launch, Process

SITE = Site("/usr/bin/python3", {}, Path("/shipped/benchmarks/common/with_voir.py"))


def njobs(n: int) -> PlanSpec:
    """n jobs side by side, each one torchrun."""
    return PlanSpec("njobs", {"n": n})


def of_each_node(n: int = 1) -> PlanSpec:
    """The same on every node by itself."""
    return PlanSpec("njobs", {"n": n, "each": "node"})


def benchmark(name: str = "b", **changes: Any) -> Benchmark:
    values: dict[str, Any] = {
        "name": name,
        "program": Path("/programs/main.py"),
        "plan": PlanSpec("per_gpu"),
        "argv": (),
        "env": {},
        "group": name,
        "install_group": name,
        "tags": frozenset(),
        "max_duration": 60.0,
        "weight": 1.0,
        "num_machines": None,
        "preset": None,
        "voir": None,
        "voirfile": None,
        "record": {},
    }
    return Benchmark(**{**values, **changes})


def cluster(gpus: int = 2, nodes: int = 1, arch: str = "cuda", cpus: int = 16) -> Cluster:
    devices = tuple(Device(i, str(i), "GPU", 80_000.0) for i in range(gpus))
    return Cluster(arch, tuple(Node(f"node{k}", devices, cpus) for k in range(nodes)))


def launch(*scripts: str, max_duration: float = 600.0, njobs: bool = False) -> Launch:
    """A launch of inline Python programs, one process for each."""
    processes = tuple(
        Process(("b", f"D{i}"), (sys.executable, "-u", "-c", text), {}, 0, (i,))
        for i, text in enumerate(scripts)
    )
    plan = PlanSpec("njobs", {"n": 1}) if njobs else PlanSpec("per_gpu")
    return Launch(benchmark(max_duration=max_duration, plan=plan), None, processes)
