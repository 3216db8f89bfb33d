"""``milabench run`` over several nodes: who starts the agents, who leads them, and the report."""

import argparse
import os
import socket
import sys
import time
from contextlib import ExitStack

from ..config.load import load
from ..dispatch import local
from ..dispatch.leader import Leader, Onlooker
from ..display.sweep import PlainSweep, QuietSweep
from ..events import Outcome
from ..launch.inbox import Inbox, stopped_by_signals
from ..machine.devices import Cluster, Node
from ..machine.part import part
from ..machine.provenance import collect
from ..plan.build import build
from ..results.alive import alive
from ..results.planfile import RunPlan
from . import begin, report, setup
from .begin import Begun


def asked(options: argparse.Namespace) -> bool:
    """Whether the command line asks for more than this host by itself."""
    return setup.node_count(options, setup.system(options)) > 1


def run(options: argparse.Namespace) -> Outcome:
    """Plan for all nodes, and run."""
    base = setup.base_folder(options)
    system = setup.system(options)
    nodes = setup.node_count(options, system)
    gpus = options.gpus or (system.gpu_count if system else None)
    arch = options.device or (system.arch if system else None)
    here = setup.this_host(options, system).cluster
    gpus = gpus or max(1, len(here.nodes[0].devices) // nodes)
    parts = tuple(part(arch or here.arch, gpus, rank, nodes, os.environ) for rank in range(nodes))
    cluster = Cluster(here.arch, parts)
    suite = load(setup.request(options, system), setup.facts(cluster, system, base))
    me = Node(socket.gethostname().split(".")[0], (), 0)
    machine = collect(cluster.arch, me, sys.argv, os.environ)
    plan = RunPlan(
        benchmarks=suite.benchmarks,
        repeats=options.repeat,
        site=setup.site(base),
        arch=cluster.arch,
        gpus=gpus,
        nodes=nodes,
        grace=options.grace,
        gpu_poll=options.gpu_poll,
        runner={"kind": "local"},
    )
    for benchmark in suite.benchmarks:
        build(
            benchmark, cluster, plan.site
        )  # what cannot be laid out is said before there is a run
    begun = begin.new(options, base, suite, plan, machine)
    if not options.quiet:
        count = f"{len(suite.benchmarks)} benchmark{'s' * (len(suite.benchmarks) != 1)}"
        where = setup.describe(cluster)
        head = f"{begun.rundir.path}: {count}, preset {suite.preset}, {where}"
        print(head, file=sys.stderr, flush=True)
    return measure(options, begun)


def measure(options: argparse.Namespace, begun: Begun) -> Outcome:
    """Lead agents through what is to be run, and report on all of the run."""
    rundir, state, plan = begun.rundir, begun.state, begun.plan
    inbox = Inbox()
    onlooker: Onlooker = QuietSweep() if options.quiet else PlainSweep(sys.stderr)
    with alive(rundir.path), stopped_by_signals(inbox), ExitStack() as stack:
        state.save(rundir.run_json)
        leader = Leader(rundir, plan, begun.points, plan.nodes, inbox, onlooker)
        for channel in stack.enter_context(local.agents(rundir.path, plan.nodes, plan.grace)):
            leader.welcome(channel)
        state.outcome = leader.run()
        state.ended = time.time()
        state.save(rundir.run_json)
    report.show([str(rundir.path)], sys.stdout)
    return state.outcome
