"""A cluster that nobody has: for a dry run on a laptop of what 64 GPUs would do."""

from .cores import share
from .devices import Cluster, Device, Node

CPUS_PER_DEVICE = 8  # fixed, so that what `dry` prints does not depend on where it is printed


def pretend(arch: str, nodes: int, gpus: int, cpus: int | None = None) -> Cluster:
    """A cluster of ``nodes`` nodes (``node0``, ``node1``, ...) with ``gpus`` devices each.

    ``cpus`` is the number of CPUs of a node, 8 for each device unless given. CPU slots are bound
    to cores only where it is given: the cores of an unknown machine cannot be named, and a script
    that binds to cores that are not there does not run.
    """
    count = gpus * CPUS_PER_DEVICE if cpus is None else cpus
    bound = range(count) if arch == "cpu" and cpus is not None else range(0)
    devices = tuple(
        Device(index=i, id=str(i), cpus=cores) for i, cores in enumerate(share(bound, gpus))
    )
    return Cluster(arch, tuple(Node(f"node{n}", devices, count) for n in range(nodes)))
