"""The file ``plan.json``: the plan of a run, for the agents of its nodes and for ``--resume``.

History of the schema:
    1  the runner's profile and the plan of each benchmark were mappings
    2  all of it is records
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..config.runner_profile import RunnerProfile
from ..config.schema import Benchmark
from ..config.system import SystemNode
from ..plan.command_line import Site


@dataclass(frozen=True)
class RunPlan:
    """The benchmarks of a run and how they are run, without the machine."""

    benchmarks: tuple[Benchmark, ...]
    repeats: int
    site: Site
    arch: str
    gpus: int | None  # devices of a node; None for all devices
    nodes: int
    grace: float  # seconds between SIGTERM and SIGKILL
    gpu_poll: float | None  # seconds between samples of the devices; None for the default
    runner: RunnerProfile | None = None  # None: this host alone
    hosts: tuple[SystemNode, ...] = ()  # those that ssh reaches, the main one first
    sshkey: Path | None = None
    schema: Literal[2] = 2  # a plan of another schema is refused
