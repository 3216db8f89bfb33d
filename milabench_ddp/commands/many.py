"""``milabench run`` over several nodes: who starts the agents, who leads them, and the report."""

import os
import socket
import sys
from dataclasses import asdict, replace
from typing import Any

from ..config.load import load
from ..config.runner_profile import RunnerProfile, profile_of
from ..config.system import System
from ..errors import SelectionError
from ..events import Outcome
from ..machine.devices import Cluster, Node
from ..machine.provenance import collect
from ..options import RunOptions
from ..plan.planner import plan_launches
from ..results.planfile import RunPlan
from . import batch, begin, report, setup, together
from .begin import Begun


def run(options: RunOptions, system: System | None, runner: RunnerProfile) -> Outcome:
    """Plan for all nodes, and run."""
    base = setup.base_folder(options)
    cluster, _ = setup.resolve_cluster(options, system, runner)
    runner = with_gpus(runner, cluster)
    suite = load(setup.request(options, system), setup.machine_facts(cluster, system, base))
    me = Node(socket.gethostname().split(".")[0], (), 0)
    machine = collect(cluster.arch, me, sys.argv, os.environ)
    plan = RunPlan(
        benchmarks=suite.benchmarks,
        repeats=options.repeat,
        site=setup.site(base, runner),
        arch=cluster.arch,
        gpus=len(cluster.nodes[0].devices),
        nodes=len(cluster.nodes),
        grace=options.grace,
        gpu_poll=options.gpu_poll,
        runner={**asdict(runner), **_hosts(system, runner)},
    )
    for benchmark in suite.benchmarks:
        plan_launches(benchmark, cluster, plan.site)  # what cannot be laid out is said now
    begun = begin.new(options, base, suite, plan, machine)
    if not options.quiet:
        count = f"{len(suite.benchmarks)} benchmark{'s' * (len(suite.benchmarks) != 1)}"
        there = setup.describe(cluster)
        head = f"{begun.rundir.path}: {count}, preset {suite.preset}, {there}"
        print(head, file=sys.stderr, flush=True)
    return measure(options, begun)


def _hosts(system: System | None, runner: RunnerProfile) -> dict[str, Any]:
    """The hosts that ssh reaches.

    Raises:
        SelectionError: there are none.
    """
    if runner.kind != "ssh":
        return {}
    if system is None or not system.nodes:
        raise SelectionError("--runner ssh needs the hosts: give a system.yaml with --system")
    hosts = sorted(system.nodes, key=lambda node: not node.main)
    return {"hosts": [asdict(node) for node in hosts], "sshkey": system.sshkey}


def with_gpus(runner: RunnerProfile, cluster: Cluster) -> RunnerProfile:
    """The profile; where it does not say it, a job asks for the GPUs that are to be used."""
    if runner.gpus_per_node is not None or not cluster.has_gpu:
        return runner
    return replace(runner, gpus_per_node=len(cluster.nodes[0].devices))


def measure(options: RunOptions, begun: Begun) -> Outcome:
    """Run what is to be run, and report on all of the run."""
    if profile_of(begun.plan.runner).kind == "slurm":
        outcome = batch.measure(begun, quiet=options.quiet, detach=options.detach)
    else:
        outcome = together.measure(begun, quiet=options.quiet)
    report.show([str(begun.rundir.path)], sys.stdout)
    return outcome
