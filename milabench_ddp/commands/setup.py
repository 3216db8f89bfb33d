"""Turns options into folders, the runner, the devices, and facts about the machine."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from ..config.conditions import MachineFacts
from ..config.container import container_words
from ..config.load import SuiteRequest, listed_node_counts, load
from ..config.runner_profile import (
    NODELIST,
    SETTINGS,
    RunnerProfile,
    find_profile,
    read_profile,
    with_settings,
)
from ..config.schema import Benchmark, Suite
from ..config.shipped import shipped_root
from ..config.system import System, read_system
from ..config.tree import default_base, expanded
from ..dispatch.node_request import NodeRequest, synthetic_nodes
from ..errors import MachineError, SelectionError, count_text
from ..hazards import hazards_in
from ..hidden import SECRETS
from ..hostlist import hostlist, shown_nodes
from ..machine.devices import Cluster
from ..options.suite import LaunchOptions, SuiteOptions
from ..plan.command_line import Site


def base_folder(options: SuiteOptions) -> Path:
    """``--base``, else ``$MILABENCH_BASE``, else the current folder; absolute."""
    return (expanded(options.base) if options.base else default_base()).absolute()


def request(options: SuiteOptions, system: System) -> SuiteRequest:
    return SuiteRequest(
        config=options.config,
        select=options.select,
        exclude=options.exclude,
        overrides=options.override,
        preset=options.preset,
        system=system,
        nodes=options.node_counts,
    )


def learn_secrets(benchmarks: Sequence[Benchmark], profile: RunnerProfile | None) -> None:
    for benchmark in benchmarks:
        benchmark.heed_secrets()
    for benchmark in benchmarks:
        # Its command line first, by which a script calls what both of them have.
        SECRETS.learn([dict(benchmark.env), list(benchmark.argv), dict(benchmark.record)])
    if profile is not None:
        SECRETS.learn(to_builtins(profile))


def loaded(
    options: LaunchOptions,
    system: System,
    cluster: Cluster,
    profile: RunnerProfile | None,
    *,
    without_programs: bool = False,
) -> tuple[Suite, Site, RunnerProfile | None]:
    """The suite for a cluster; its interpreters, and the profile, in the container if it has one.

    If the profile does not set the GPUs of a node, they are those of the cluster. The secrets of
    both are known then.
    """
    base = base_folder(options)
    facts = machine_facts(cluster, system, base)
    suite = load(request(options, system), facts, without_programs=without_programs)
    if profile is not None:
        if profile.gpus_per_node is None and cluster.has_gpu:
            profile = with_settings(profile, {"gpus_per_node": len(cluster.nodes[0].devices)})
        profile = inside(profile, base, cluster.arch, suite.benchmarks)
    learn_secrets(suite.benchmarks, profile)
    return suite, site(options, profile), profile


def load_local_suite(options: SuiteOptions) -> Suite:
    system = read_system_of(options)
    nodes = node_request(options, system)
    facts = machine_facts(nodes.detect(), system, base_folder(options))
    return load(request(options, system), replace(facts, node_count=nodes.nodes))


def read_system_of(options: SuiteOptions) -> System:
    """What ``--system`` describes; of its hosts, those that ``--nodes`` names."""
    system = read_system(Path(options.system)) if options.system else System()
    names = set(options.node_names)
    if not system.nodes or not names:
        return system
    if others := names - {host.name for host in system.nodes}:
        raise SelectionError(
            f"--nodes {shown_nodes(options.node_names)}: {options.system} has no "
            f"{shown_nodes(others)}"
        )
    return replace(system, nodes=tuple(host for host in system.nodes if host.name in names))


def resolve_runner(options: LaunchOptions, system: System) -> RunnerProfile | None:
    """The runner profile, with the settings of the command line; None for this host alone."""
    profile = None
    if options.runner is not None:
        profile = read_profile(find_profile(options.runner))
    elif options.node_names or node_count(options, system) > 1:
        has_hosts = len(system.nodes) > 1 or bool(system.nodes and options.node_names)
        profile = RunnerProfile("ssh" if has_hosts else "local")
    check_settings(options, profile)
    if profile is None:
        return None
    if names := options.node_names:
        if profile.kind == "local":
            raise SelectionError(
                f"--nodes {shown_nodes(names)}: a list of nodes is for --runner slurm, or for the "
                "hosts of --system; give a number"
            )
        if profile.kind == "slurm":
            chosen = {**profile.options, NODELIST: hostlist(names)}
            profile = with_settings(profile, {"options": chosen})
    if options.one_at_a_time:  # singleton: of jobs of one name, but not of one array
        own = profile.options.get("dependency")
        waits = f"{own},singleton" if own else "singleton"
        more = {**profile.options, "dependency": waits}
        profile = with_settings(profile, {"options": more, "array_parallelism": 1})
    return with_settings(profile, options.settings)


def is_scheduler(profile: RunnerProfile | None) -> bool:
    return profile is not None and profile.kind == "slurm"


def check_settings(options: LaunchOptions, profile: RunnerProfile | None) -> None:
    """Raise SelectionError for a setting that needs a scheduler, if the runner has none."""
    if options.settings and not is_scheduler(profile):
        flag = SETTINGS[next(iter(options.settings))].flag
        raise SelectionError(f"{flag} is for a cluster's scheduler: add --runner slurm")


def node_count(options: SuiteOptions, system: System, profile: RunnerProfile | None = None) -> int:
    """The number of nodes: the largest of ``--nodes``; else of the profile, of the system, or 1.

    Without ``--nodes`` there are at least as many as the largest that a sweep lists.
    """
    if options.nodes:
        return max(options.node_counts)
    count = len(system.nodes) or 1
    if profile is not None and profile.nodes:
        count = profile.nodes
    listed = listed_node_counts(request(options, system)) if options.config else ()
    return max((count, *listed))


def node_request(
    options: SuiteOptions, system: System, profile: RunnerProfile | None = None
) -> NodeRequest:
    devices = options.gpus or system.gpu.count
    if devices is None and profile is not None:
        devices = profile.gpus_per_node
    hosts = sorted(system.nodes, key=lambda host: not host.main)
    nodes = node_count(options, system, profile)
    return NodeRequest(nodes, devices, options.device or system.arch, tuple(hosts))


def resolve_cluster(
    options: SuiteOptions, system: System, profile: RunnerProfile | None = None
) -> Cluster:
    """The nodes to plan for.

    With a runner they are its nodes. Without one the node is this host, if it has the requested
    devices and one node is enough; else the nodes are synthetic and stand for other machines.
    """
    request = node_request(options, system, profile)
    if profile is not None:
        from ..dispatch.runners import runner_of

        runner = runner_of(profile)
        return runner.cluster(replace(request, cpus=runner.node_cpus(profile)))
    if request.nodes == 1:
        try:
            host = request.detect()
        except MachineError:
            if request.devices is None:
                raise
        else:
            if host.has_gpu or request.devices is None or request.kind == "cpu":
                return host
    return synthetic_nodes(request)


def machine_facts(cluster: Cluster, system: System, base: Path) -> MachineFacts:
    node = cluster.nodes[0]
    if not node.devices:
        raise MachineError(f"node {node.name} has no device")
    device = node.devices[0]
    capacity, capability = system.gpu.capacity, system.gpu.capability
    return MachineFacts(
        arch=cluster.arch,
        node_count=len(cluster.nodes),
        gpu_count=len(node.devices),
        cpu_count=node.cpu_count,
        device_name=device.name,
        gpu_capacity_mib=device.memory_mib if capacity is None else capacity,
        base=base,
        gpu_capability=device.capability if capability is None else capability,
    )


def resolve_request(options: SuiteOptions) -> tuple[SuiteRequest, MachineFacts]:
    system = read_system_of(options)
    cluster = resolve_cluster(options, system)
    return request(options, system), machine_facts(cluster, system, base_folder(options))


def inside(
    profile: RunnerProfile, base: Path, arch: str, benchmarks: Iterable[Benchmark]
) -> RunnerProfile:
    """The profile with its container, which gets the folders that these benchmarks need."""
    if profile.container is None:
        return profile
    package, top = Path(__file__).parents[1], shipped_root()
    own = replace(profile.container, image=str(profile.container.path or profile.container.image))
    programs = [benchmark.program.parent for benchmark in benchmarks if not benchmark.module]
    folders = [Path.cwd(), base, package, top, *programs]
    options, prefix = container_words(own, folders, arch)
    of_checkout = {"PYTHONPATH": str(top)} if top == package.parent else {}
    changes = {
        "container": own,
        "python": profile.python or "python3",
        "srun_options": (*options, *profile.srun_options),
        "command_prefix": (*profile.command_prefix, *prefix),
        "environment": {**of_checkout, **profile.environment},
    }
    return with_settings(profile, changes)


def site(options: LaunchOptions, profile: RunnerProfile | None) -> Site:
    """The interpreters, that of the profile or this one, and the voir shim.

    Any of ``<base>/venv/<install group>`` is for this host, and not for its containers.
    """
    launcher = profile.launcher if profile else "torchrun"
    python = (profile and profile.python) or sys.executable
    pythons = sorted((base_folder(options) / "venv").glob("*/bin/python"))
    shim = shipped_root() / "benchmarks" / "common" / "with_voir.py"
    is_inside = profile is not None and profile.container is not None
    venvs = {} if is_inside else {p.parent.parent.name: str(p) for p in pythons}
    return Site(python, venvs, shim, launcher, options.numa_binding == "node")


def hazards(benchmarks: Iterable[Benchmark], cluster: Cluster) -> list[str]:
    """The known hazards of this environment, and of those of the benchmarks, a sentence each."""
    found: dict[str, None] = {}
    for benchmark in benchmarks:
        environ = {**os.environ, **benchmark.env}
        nodes = benchmark.size(len(cluster.nodes))
        for setting, effect in hazards_in(environ, on_gpu=cluster.has_gpu, nodes=nodes):
            found[f"{setting}: {effect}"] = None
    return list(found)


def describe(cluster: Cluster) -> str:
    """The devices in a few words: ``8 x NVIDIA H100``, ``2 CPU slots``, ``4 nodes of ...``."""
    devices = cluster.nodes[0].devices
    names = " and ".join(sorted({d.name for d in devices if d.name}))
    if cluster.has_gpu:
        one = f"{len(devices)} x {names or f'{cluster.arch} GPU'}"
    else:
        one = count_text(len(devices), "CPU slot") + (f" of {names}" if names else "")
    return one if len(cluster.nodes) == 1 else f"{len(cluster.nodes)} nodes of {one}"
