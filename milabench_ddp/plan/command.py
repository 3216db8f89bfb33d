"""What is to be started, as data: bash.py prints it, launch/ starts it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..config.schema import Benchmark


@dataclass(frozen=True)
class Process:
    """One process of a plan: a program, or the torchrun that leads a program's ranks."""

    tag: tuple[str, ...]  # benchmark, repeat, device or job, node
    argv: tuple[str, ...]
    env: Mapping[str, str]  # added to the caller's
    node: int  # node rank
    devices: tuple[int, ...]  # physical indices on its node
    job: int | None = None  # which of the launch's meeting places its ranks need, if it needs one

    @property
    def is_rank(self) -> bool:
        """Whether it is a rank itself, and not a torchrun that starts ranks."""
        return "RANK" in self.env

    @property
    def name(self) -> str:
        """The tag as one word: the stem of its result files."""
        return ".".join(self.tag)


@dataclass(frozen=True)
class Launch:
    """The processes of a benchmark that start together, and end together at its deadline."""

    benchmark: Benchmark
    repeat: int | None  # None where there is only one
    processes: tuple[Process, ...]
    nodes: int = 1

    @property
    def barrier(self) -> bool:
        """Whether its processes are independent and so must be told when to measure together."""
        ranks = any(process.is_rank for process in self.processes)  # they wait for one another
        return len(self.processes) > 1 and not ranks
