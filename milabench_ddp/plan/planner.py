"""Plans the launches of a benchmark on a cluster.

Pure: it uses no process, no file, no clock, no driver and no environment.
"""

from pathlib import Path

from msgspec.structs import replace

from ..config.schema import Benchmark
from ..errors import PlanError
from ..machine.devices import Cluster, Node
from .command_line import Site
from .defaults import defaults
from .launch import Launch, Process
from .methods import METHODS, PlanContext

MOST_PROCESSES = 1_000_000  # of a benchmark, with its repeats
BATCH_SIZE = "--batch-size"


def plan_launches(
    benchmark: Benchmark,
    cluster: Cluster,
    site: Site,
    repeats: int = 1,
    run: Path | None = None,
) -> list[Launch]:
    """The launches of a benchmark, one for each repeat, in the run folder ``run``.

    Raises:
        PlanError: there are no devices, too few nodes, or more processes than a plan holds; or the
            devices do not divide into the jobs.
    """
    nodes = _nodes(benchmark, cluster)
    benchmark = scaled(benchmark, len(nodes))
    method = METHODS[benchmark.plan.method]
    common = defaults(benchmark, cluster.arch, nodes, run)
    launches = []
    started = 0
    for number in range(repeats):
        repeat = None if repeats == 1 else number
        tag = (benchmark.name,) if repeat is None else (benchmark.name, f"R{repeat}")
        processes: list[Process] = []
        for rank, node in enumerate(nodes):
            context = PlanContext(benchmark, site, cluster.arch, tag, node, rank, len(nodes))
            processes += method.processes(context)
        started += len(processes)
        if started > MOST_PROCESSES:
            raise PlanError(
                f"{benchmark.name}: more than {MOST_PROCESSES:,} processes in all: give fewer "
                "with --nodes, --gpus or --repeat"
            )
        launches.append(Launch(benchmark, repeat, tuple(processes), len(nodes), common))
    return launches


def _nodes(benchmark: Benchmark, cluster: Cluster) -> tuple[Node, ...]:
    available = len(cluster.nodes)
    needed = benchmark.size(available)
    if needed > available:
        raise PlanError(f"{benchmark.name}: needs {needed} nodes, but there are {available}")
    nodes = cluster.nodes[:needed]
    for node in nodes:
        if not node.devices:
            raise PlanError(f"{benchmark.name}: node {node.name} has no device")
    return nodes


def scaled(benchmark: Benchmark, nodes: int) -> Benchmark:
    """The benchmark as it runs on this number of nodes.

    Under ``weak`` scaling the batch size of a rank is kept, and the global batch grows with the
    nodes. Under ``strong`` scaling the batch size is that of a rank on one node, and is divided by
    the number of nodes, so that the global batch is kept.

    Raises:
        PlanError: there is no batch size, or it does not divide.
    """
    if benchmark.scaling == "weak" or nodes == 1:
        return benchmark
    argv = list(benchmark.argv)
    place = argv.index(BATCH_SIZE) + 1 if BATCH_SIZE in argv else len(argv)
    if place >= len(argv) or not argv[place].isdecimal():
        raise PlanError(
            f"{benchmark.name}: `scaling: strong` divides {BATCH_SIZE} by the number of nodes, "
            f"but its argv has none: add it, or use `scaling: weak`"
        )
    size, rest = divmod(int(argv[place]), nodes)
    if rest or not size:
        raise PlanError(
            f"{benchmark.name}: `scaling: strong` divides {BATCH_SIZE} {argv[place]} by {nodes} "
            f"nodes, and {nodes} does not divide it: choose a multiple"
        )
    argv[place] = str(size)
    return replace(benchmark, argv=tuple(argv))
