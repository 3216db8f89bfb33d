"""Where a cluster lives, and what its nodes claim to have, from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import ClusterError

SLOTS = 10
"""How many clusters fit side by side without further settings."""
MOST_NODES = 90


@dataclass(frozen=True)
class Settings:
    """A cluster's place on the machine: clusters whose slots differ share nothing."""

    directory: Path
    """All its files: etc, log, run (pid files, sockets), state, spool."""
    port: int
    """Of slurmctld; the next is slurmdbd's, and node K's slurmd has ``port + 100 + K``."""
    network: str
    """The first three numbers of its addresses: node K is ``.K``, the host ``.254``."""
    bridge: str
    """The name of its network bridge, and the beginning of the names of its cables."""
    cpus: int
    """What each node claims to have: processors,"""
    memory: int
    """memory, in MB,"""
    gpus: int
    """and GPUs: device files that do nothing, enough for Slurm to set CUDA_VISIBLE_DEVICES."""

    @property
    def conf(self) -> Path:
        """Slurm's configuration."""
        return self.directory / "etc" / "slurm.conf"

    @property
    def environ(self) -> dict[str, str]:
        """What makes Slurm's commands speak to this cluster."""
        return {"SLURM_CONF": str(self.conf)}

    @property
    def has_network(self) -> bool:
        """Whether it was started with ``--netns``."""
        return (self.directory / "etc" / "netns").exists()

    @property
    def host(self) -> str:
        """The address of the host, where slurmctld and slurmdbd listen."""
        return f"{self.network}.254" if self.has_network else "127.0.0.1"

    def address(self, number: int) -> str:
        """The address of node ``number``."""
        return f"{self.network if self.has_network else '127.0.99'}.{number}"

    def number(self, node: str) -> int:
        """The number of ``nodeK``; raises ClusterError where the cluster has no such node."""
        for number in self.numbers():
            if node == f"node{number}":
                return number
        raise ClusterError(f"there is no node {node!r}: the nodes are node1 to node{self.nodes()}")

    def nodes(self) -> int:
        """How many nodes it was started with."""
        try:
            return int((self.directory / "etc" / "nodes").read_text())
        except FileNotFoundError:
            raise ClusterError(f"no cluster was started in {self.directory}: run `up`") from None

    def numbers(self) -> range:
        """The numbers of its nodes, from 1."""
        return range(1, self.nodes() + 1)


def read(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that ``MILABENCH_SLURM_*`` ask for."""

    def number(name: str, default: int, least: int, most: int) -> int:
        given = environ.get(f"MILABENCH_SLURM_{name}", str(default))
        if given.isdecimal() and least <= int(given) <= most:
            return int(given)
        raise ClusterError(
            f"MILABENCH_SLURM_{name} is {given!r}: give a number from {least} to {most}"
        )

    slot = number("SLOT", 0, 0, SLOTS - 1)
    directory = Path(environ.get("MILABENCH_SLURM_DIR", f"/tmp/milabench-slurm-{slot}"))
    if not directory.is_absolute() or set(str(directory)) & set(" ='\"#%"):
        raise ClusterError(f"MILABENCH_SLURM_DIR is {directory}: give a plain absolute path")
    return Settings(
        directory=directory,
        # Below the ports that runners/torchrun_script.sh and the kernel choose for themselves.
        port=number("PORT", 18000 + 200 * slot, 1024, 65000),
        network=environ.get("MILABENCH_SLURM_NET", f"10.213.{100 + slot}"),
        bridge=environ.get("MILABENCH_SLURM_BRIDGE", f"msl{slot}"),
        cpus=number("CPUS", 16, 1, 4096),
        memory=number("MEMORY", 64000, 1000, 10**8),
        gpus=number("GPUS", 2, 0, 64),
    )
