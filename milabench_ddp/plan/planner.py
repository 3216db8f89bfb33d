"""Plans the launches of a benchmark on a cluster.

Pure: it uses no process, no file, no clock, no driver and no environment.

As listed, all repeats of a benchmark run one after another. Shuffled, they run in rounds: first all
benchmarks once, in a random order, then all once more, in another. A machine that warms up or
drifts is then as warm in the mean for one benchmark as for another, which one random order of
all launches would hold by chance alone. It also holds where it is not known beforehand how many
repeats each benchmark needs.

Two runs that are compared take turns: of each benchmark in a round, A and then B; in the next round
B and then A. So what drifts is in both launches of a pair, and its rest has the other sign next.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ..config.schema import Benchmark
from ..errors import PlanError
from ..machine.backends import BACKENDS
from ..machine.devices import Cluster, Node
from .command_line import Site
from .launch import Launch, Process
from .methods import METHODS, PlanContext

MOST_PROCESSES = 1_000_000  # of a benchmark, with its repeats
BATCH_SIZE = "--batch-size"

MAX_DURATION = "MILABENCH_MAX_DURATION"  # seconds; the programs measure less, rather than too long
# The programs read these two: seconds that a collective may take.
SETUP_TIMEOUT, STEP_TIMEOUT = "MILABENCH_SETUP_TIMEOUT", "MILABENCH_STEP_TIMEOUT"
LEAST_STEP_TIMEOUT = 60.0  # seconds: a file system or a busy host may stall a step for long
MOST_THREADS = 32  # of inductor, by itself
ENTRIES = 2000  # collectives that the flight recorder remembers


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
    available = len(cluster.nodes)
    needed = benchmark.size(available)
    if needed > available:
        raise PlanError(f"{benchmark.name}: needs {needed} nodes, but there are {available}")
    nodes = cluster.nodes[:needed]
    for node in nodes:
        if not node.devices:
            raise PlanError(f"{benchmark.name}: node {node.name} has no device")
    benchmark = scaled(benchmark, 1 if benchmark.plan.each_node else len(nodes))
    common = defaults(benchmark, cluster.arch, nodes, run)
    launches = []
    started = 0
    for number in range(repeats):
        repeat = None if repeats == 1 else number
        tag = (benchmark.name,) if repeat is None else (benchmark.name, f"R{repeat}")
        processes: list[Process] = []
        for rank, node in enumerate(nodes):
            context = PlanContext(benchmark, site, cluster.arch, tag, node, rank, len(nodes))
            processes += METHODS[benchmark.plan.method](context)
        started += len(processes)
        if started > MOST_PROCESSES:
            raise PlanError(
                f"{benchmark.name}: more than {MOST_PROCESSES:,} processes in all: give fewer "
                "with --nodes, --gpus or --repeat"
            )
        launches.append(Launch(benchmark, repeat, tuple(processes), len(nodes), common))
    return launches


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


def defaults(
    benchmark: Benchmark, arch: str, nodes: Sequence[Node], run: Path | None
) -> dict[str, str]:
    """Variables that a launch has unless the caller sets them; ``run`` is the run folder, if any.

    A collective that waits for a rank which does not come fails after a time-out, and its message
    and the flight recorder of NCCL say which: before ``max_duration``, after which nothing can be
    learnt.

        until the first steps are done  max_duration / 2   one rank may compile, the others wait
        from then on                    max_duration / 6, at least 60 s, at most as before

    The names of the flight recorder's variables are those that torch has had since 2.2.

    Caches are in the folder of the benchmark: its first launch compiles everything, a repeat and
    ``--resume`` find what an earlier launch compiled.
    """
    cores = min(node.cpu_count // len(node.devices) for node in nodes)
    found = {
        MAX_DURATION: f"{benchmark.max_duration:g}",
        "TORCHINDUCTOR_COMPILE_THREADS": str(min(max(cores, 1), MOST_THREADS)),
    }
    folder = None if run is None else run / benchmark.name
    if folder is not None:
        cache = folder.parent if "/" in benchmark.name else folder  # a probe has its benchmark's
        found["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "cache" / "inductor")
        found["TRITON_CACHE_DIR"] = str(cache / "cache" / "triton")
    if not benchmark.plan.jobs:
        return found
    setup = benchmark.max_duration / 2
    step = min(setup, max(benchmark.max_duration / 6, LEAST_STEP_TIMEOUT))
    found |= {SETUP_TIMEOUT: f"{setup:g}", STEP_TIMEOUT: f"{step:g}"}
    if BACKENDS[arch].collectives in ("nccl", "rccl"):
        found["TORCH_FR_BUFFER_SIZE"] = str(ENTRIES)
        found["TORCH_NCCL_DUMP_ON_TIMEOUT"] = "1"
        if folder is not None:  # each rank appends its number
            found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] = str(folder / "flight_recorder.rank")
    return found


SEEDS = 10**6


def new_seed() -> int:
    """A random seed, short enough to be typed."""
    import random  # few runs are shuffled

    return random.SystemRandom().randrange(SEEDS)


def place(benchmark: str, repeat: int, seed: int, side: int = 0) -> tuple[int, bytes, int]:
    """The place of a launch in the shuffled order, as a key to sort by.

    It depends on nothing else, so ``--resume`` and ``--select`` keep the order of what is left.

    Args:
        side: 0, or 1 for the second of two runs that take turns.
    """
    from hashlib import sha256

    digest = sha256(f"{seed}/{repeat}/{benchmark}".encode()).digest()
    return repeat, digest, (side + repeat) % 2


def in_order(launches: Sequence[Launch], seed: int | None) -> list[Launch]:
    if seed is None:
        return list(launches)
    return sorted(launches, key=lambda each: place(each.benchmark.name, each.repeat or 0, seed))
