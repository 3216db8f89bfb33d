"""The plan methods: how a benchmark is laid out on the devices of a node. Pure.

To add one, write a function here, name it in METHODS, and declare its options in ``config.schema``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ..config.schema import Benchmark
from ..errors import PlanError
from ..machine.backends import BACKENDS
from ..machine.devices import Device, Node
from .command_line import Site, Words, plain, taskset, torchrun
from .launch import Process

_REMEMBERED = 4096
DEVICE = "MILABENCH_DEVICE"  # tells a program what to measure, as torch names it; it may not choose


class PlanContext(Struct, frozen=True):
    """The input of a plan method: a benchmark, and one node of the cluster."""

    benchmark: Benchmark
    site: Site
    arch: str
    tag: tuple[str, ...]  # the first parts of all tags: the benchmark, and the repeat
    node: Node
    rank: int  # of the node
    nodes: int

    def process(
        self,
        tag: tuple[str, ...],
        argv: Words,
        devices: Sequence[Device],
        *,
        job: int | None = None,
        reports: bool = True,
    ) -> Process:
        """A process that sees these devices.

        Args:
            tag: the last parts of its tag, which differ for each process of the node.
            reports: whether it reports metrics; if not, its tag ends in ``nolog``, as milabench's.
        """
        full_tag = [*self.tag, *tag]
        if self.nodes > 1:
            full_tag.append(self.node.name)
        if not reports:
            full_tag.append("nolog")
        threads = self.node.cpu_count // len(self.node.devices)
        for device in devices:
            cores = set(self.cores(device))
            if cores:
                beside = [each for each in self.node.devices if cores & set(self.cores(each))]
                threads = min(threads, len(cores) // len(beside))
        env = device_variables(self.arch, devices, max(threads, 1))
        if self.benchmark.voirfile is not None:
            env["VOIRFILE"] = str(self.benchmark.voirfile)
        env |= self.benchmark.environ
        indices = tuple(device.index for device in devices)
        variables = _variables(tuple(env.items()))
        return Process(tuple(full_tag), _words(argv), variables, self.rank, indices, job)

    def cores(self, device: Device) -> tuple[int, ...]:
        return device.cpus if self.arch == "cpu" or self.site.numa_binding else ()


def device_variables(arch: str, devices: Sequence[Device], threads: int) -> dict[str, str]:
    backend = BACKENDS[arch]
    return {
        DEVICE: backend.torch_device,
        backend.visibility_variable: backend.visibility_value(devices),
        "OMP_NUM_THREADS": str(threads),
        **backend.environment(devices),
    }


# Processes with the same words, or variables, share one object: a plan may have a million of them.


@lru_cache(_REMEMBERED)
def _words(argv: Words) -> Words:
    return argv


@lru_cache(_REMEMBERED)
def _variables(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return dict(items)


def per_gpu(context: PlanContext) -> Iterator[Process]:
    for device in context.node.devices:
        argv = taskset(plain(context.benchmark, context.site), context.cores(device))
        yield context.process((f"D{device.index}",), argv, [device])


def njobs(context: PlanContext) -> Iterator[Process]:
    """``n`` jobs side by side; each is one torchrun over its part of the devices of each node.

    With ``each: node`` every node has torchruns of its own, whose ranks meet no other node's. They
    are torchruns also where the launcher is ``tasks``: only torchrun finds a free port itself.
    """
    jobs = context.benchmark.plan.jobs
    devices = context.node.devices
    size, rest = divmod(len(devices), jobs)
    if rest or not size:
        raise PlanError(
            f"{context.benchmark.name}: {len(devices)} devices of a node do not divide into "
            f"plan.n = {jobs} jobs; choose a plan.n that divides {len(devices)}, "
            f"or other devices with --gpus"
        )
    for job in range(jobs):
        part = devices[job * size : (job + 1) * size]
        if context.benchmark.plan.each_node:
            yield _torchrun(context, job, part, nodes=1)
        elif context.site.launcher == "tasks":
            yield from _tasks(context, job, part)
        else:
            yield _torchrun(context, job, part, nodes=context.nodes)


# The processes of a node, by the name that `plan.method` takes; `config.schema.PLAN_METHODS` has
# the options. A method raises PlanError if the benchmark does not fit its devices.
METHODS: Mapping[str, Callable[[PlanContext], Iterator[Process]]] = {
    "per_gpu": per_gpu,
    "njobs": njobs,
}


def _torchrun(context: PlanContext, job: int, devices: Sequence[Device], nodes: int) -> Process:
    name = ".".join([*context.tag, str(job)])
    cores = [context.cores(device) for device in devices]
    differ = len(set(cores)) > 1 and context.arch != "cpu"
    own = cores if differ and all(cores) else ()
    argv = torchrun(context.benchmark, context.site, len(devices), nodes, name, own)
    if not differ:  # CPU slots share theirs
        argv = taskset(argv, [cpu for shared in cores for cpu in shared])
    rendezvous = job if nodes > 1 else None
    reports = nodes == 1 or context.rank == 0
    return context.process((str(job),), argv, devices, job=rendezvous, reports=reports)


def _tasks(context: PlanContext, job: int, devices: Sequence[Device]) -> Iterator[Process]:
    ranks = len(devices)
    for local_rank, device in enumerate(devices):
        rank = context.rank * ranks + local_rank
        argv = taskset(plain(context.benchmark, context.site), context.cores(device))
        tag = (str(job), f"D{device.index}")
        process = context.process(tag, argv, devices, job=job, reports=rank == 0)
        env = {
            **process.env,
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks * context.nodes),
            "LOCAL_RANK": str(local_rank),
            "LOCAL_WORLD_SIZE": str(ranks),
            "GROUP_RANK": str(context.rank),
        }
        # As with torchrun, the samples of all devices of the job go to the file of one process.
        sampled = process.devices if local_rank == 0 else ()
        yield replace(process, env=env, devices=sampled)
