"""Weak and strong scaling: what of a benchmark is kept as it gets more nodes."""

from dataclasses import replace

from ..config.schema import Benchmark
from ..errors import PlanError

BATCH_SIZE = "--batch-size"


def scaled(benchmark: Benchmark, nodes: int) -> Benchmark:
    """The benchmark as it runs on this many nodes.

    Under ``weak`` scaling its batch size, that of a replica, is kept, and the global batch grows
    with the nodes. Under ``strong`` scaling the batch size is that of one node's replicas and is
    divided by the number of nodes, so that the global batch is kept.

    Raises:
        PlanError: there is no batch size, or it does not divide.
    """
    if benchmark.scaling == "weak" or nodes == 1:
        return benchmark
    argv = list(benchmark.argv)
    where = argv.index(BATCH_SIZE) + 1 if BATCH_SIZE in argv else len(argv)
    if where >= len(argv) or not argv[where].isdecimal():
        raise PlanError(
            f"{benchmark.name}: `scaling: strong` divides {BATCH_SIZE} by the number of nodes, "
            f"and its argv has none: add it, or use `scaling: weak`"
        )
    size, rest = divmod(int(argv[where]), nodes)
    if rest or not size:
        raise PlanError(
            f"{benchmark.name}: `scaling: strong` divides {BATCH_SIZE} {argv[where]} by {nodes} "
            f"nodes, and {nodes} does not divide it: choose a multiple"
        )
    argv[where] = str(size)
    return replace(benchmark, argv=tuple(argv))
