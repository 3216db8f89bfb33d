"""Benchmark x Cluster -> Launch. Pure: no process, no file, no clock, no driver, no environment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..config.schema import Benchmark
from ..errors import PlanError
from ..machine.backends import BACKENDS
from ..machine.devices import Cluster, Device, Node
from .command import Launch, Process
from .scaling import scaled
from .site import Site
from .wrap import plain, taskset, torchrun


def build(benchmark: Benchmark, cluster: Cluster, site: Site, repeats: int = 1) -> list[Launch]:
    """The launches of a benchmark, one for each repeat.

    Raises:
        PlanError: there are no devices, too few nodes, or the devices do not divide into the jobs.
    """
    nodes = _nodes(benchmark, cluster)
    benchmark = scaled(benchmark, len(nodes))
    marks: list[int | None] = [None] if repeats == 1 else list(range(repeats))
    return [
        Launch(benchmark, k, _processes(benchmark, cluster.arch, nodes, site, k), len(nodes))
        for k in marks
    ]


def _nodes(benchmark: Benchmark, cluster: Cluster) -> tuple[Node, ...]:
    wanted = benchmark.num_machines or len(cluster.nodes)
    if wanted > len(cluster.nodes):
        raise PlanError(
            f"{benchmark.name}: needs {wanted} nodes, and there are {len(cluster.nodes)}"
        )
    nodes = cluster.nodes[:wanted]
    for node in nodes:
        if not node.devices:
            raise PlanError(f"{benchmark.name}: node {node.name} has no device")
    return nodes


def _processes(
    benchmark: Benchmark, arch: str, nodes: Sequence[Node], site: Site, repeat: int | None
) -> tuple[Process, ...]:
    head = (benchmark.name,) if repeat is None else (benchmark.name, f"R{repeat}")
    found: list[Process] = []
    for rank, node in enumerate(nodes):
        tail = (node.name,) if len(nodes) > 1 else ()
        match benchmark.plan.method:
            case "per_gpu":
                for device in node.devices:
                    words = taskset(plain(benchmark, site), device.cpus)
                    tag = (*head, f"D{device.index}", *tail)
                    found.append(_process(benchmark, arch, tag, words, rank, node, (device,)))
            case "njobs":
                shares = _shares(benchmark, node.devices, benchmark.plan.options["n"])
                for i, share in enumerate(shares):
                    job = _Job((*head, str(i)), i, rank, len(nodes), share)
                    start = _tasks if site.launcher == "tasks" else _torchrun
                    found += start(benchmark, arch, site, node, job)
    return tuple(found)


@dataclass(frozen=True)
class _Job:
    """A node's part of one job of a launch."""

    tag: tuple[str, ...]
    index: int  # among the jobs of the launch
    node_rank: int
    nodes: int
    devices: tuple[Device, ...]  # as many on every node

    def mark(self, node: Node, *, reports: bool) -> tuple[str, ...]:
        """The tag of a process; milabench marks with `nolog` a launcher that reports nothing."""
        where = (node.name,) if self.nodes > 1 else ()
        return (*where, *(() if reports else ("nolog",)))


def _torchrun(
    benchmark: Benchmark, arch: str, site: Site, node: Node, job: _Job
) -> Iterator[Process]:
    """The node's torchrun."""
    words = torchrun(benchmark, site, len(job.devices), job.nodes, ".".join(job.tag))
    words = taskset(words, [cpu for device in job.devices for cpu in device.cpus])
    tag = (*job.tag, *job.mark(node, reports=job.node_rank == 0))
    process = _process(benchmark, arch, tag, words, job.node_rank, node, job.devices)
    yield replace(process, job=job.index) if job.nodes > 1 else process


def _tasks(benchmark: Benchmark, arch: str, site: Site, node: Node, job: _Job) -> Iterator[Process]:
    """The node's ranks themselves, as Slurm starts tasks; where they meet is known at the start."""
    ranks = len(job.devices)
    for local_rank, device in enumerate(job.devices):
        rank = job.node_rank * ranks + local_rank
        tag = (*job.tag, f"D{device.index}", *job.mark(node, reports=rank == 0))
        words = taskset(plain(benchmark, site), device.cpus)
        process = _process(benchmark, arch, tag, words, job.node_rank, node, job.devices)
        places = {
            "RANK": rank,
            "WORLD_SIZE": ranks * job.nodes,
            "LOCAL_RANK": local_rank,
            "LOCAL_WORLD_SIZE": ranks,
            "GROUP_RANK": job.node_rank,
        }
        env = {**process.env, **{key: str(value) for key, value in places.items()}}
        # As a torchrun has them all: what they show while it runs is in the file of one process.
        devices = process.devices if local_rank == 0 else ()
        yield replace(process, env=env, devices=devices, job=job.index)


def _shares(
    benchmark: Benchmark, devices: tuple[Device, ...], jobs: int
) -> list[tuple[Device, ...]]:
    size, rest = divmod(len(devices), jobs)
    if rest or not size:
        raise PlanError(
            f"{benchmark.name}: {len(devices)} devices of a node do not divide into "
            f"plan.n = {jobs} jobs; choose a plan.n that divides {len(devices)}, "
            f"or other devices with --gpus"
        )
    return [devices[i * size : (i + 1) * size] for i in range(jobs)]


def _process(
    benchmark: Benchmark,
    arch: str,
    tag: tuple[str, ...],
    words: tuple[str, ...],
    rank: int,
    node: Node,
    devices: tuple[Device, ...],
) -> Process:
    env = {**_environment(benchmark, arch, node, devices), **benchmark.env}
    return Process(tag, words, env, rank, tuple(device.index for device in devices))


def _environment(
    benchmark: Benchmark, arch: str, node: Node, devices: Sequence[Device]
) -> Mapping[str, str]:
    backend = BACKENDS[arch]
    threads = max(1, node.cpu_count // len(node.devices))
    env = {
        backend.visibility: backend.visible(devices),
        "OMP_NUM_THREADS": str(threads),
        **backend.environment(devices),
    }
    if benchmark.voirfile is not None:
        env["VOIRFILE"] = str(benchmark.voirfile)
    return env
