"""Launches and their processes, as data: `bash.py` prints them, and `launch/` starts them."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..config.schema import Benchmark


class Process(Struct, frozen=True):
    """One process of a launch: a program, or the torchrun that starts a program's ranks."""

    tag: tuple[str, ...]  # benchmark, repeat, device or job, node
    argv: tuple[str, ...]
    env: Mapping[str, str]  # added to the caller's
    node: int  # node rank
    devices: tuple[int, ...]  # physical indices on its node
    job: int | None = None  # number of the rendezvous where its ranks meet; None: not needed

    @property
    def is_rank(self) -> bool:
        return "RANK" in self.env

    @property
    def own_rank(self) -> int | None:
        rank = self.env.get("RANK", "")
        return int(rank) if rank.isdecimal() else None

    @property
    def name(self) -> str:
        return ".".join(self.tag)

    def meeting(self, host: str, port: str) -> dict[str, str]:
        """The variables that tell the ranks of its job where they meet; none if they need none."""
        if self.job is None:
            return {}
        if self.is_rank:
            return {"MASTER_ADDR": host, "MASTER_PORT": port}
        return {"PET_RDZV_ENDPOINT": f"{host}:{port}", "PET_NODE_RANK": str(self.node)}


class Launch(Struct, frozen=True):
    """The processes of a benchmark that start together; those left at its deadline end together."""

    benchmark: Benchmark
    repeat: int | None  # None if there is only one
    processes: tuple[Process, ...]
    nodes: int = 1
    defaults: Mapping[str, str] = {}  # where the caller sets no other

    @property
    def barrier(self) -> bool:
        """Whether it needs the start barrier, because its processes do not wait for one another."""
        has_ranks = any(process.is_rank for process in self.processes)  # they wait for one another
        return len(self.processes) > 1 and not has_ranks

    @property
    def is_joint(self) -> bool:
        """Whether its processes meet, at a port, and wait for each other; else each runs alone."""
        return any(process.job is not None for process in self.processes)

    def called_with(self, environ: Mapping[str, str]) -> "Launch":
        """The launch with its defaults in the processes' variables, but those of the caller."""
        missing = {name: text for name, text in self.defaults.items() if name not in environ}
        processes = [replace(each, env={**missing, **each.env}) for each in self.processes]
        return replace(self, processes=tuple(processes), defaults={})
