"""``milabench run``: plan the suite, run it on this host, and report."""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .. import __version__
from ..config.load import load
from ..config.schema import Suite
from ..display.live import LiveDisplay
from ..display.plain import PlainDisplay, QuietDisplay
from ..errors import PlanError, SelectionError
from ..events import Outcome
from ..launch.agent import Agent, Job, Samples, Watcher
from ..launch.inbox import Inbox, stopped_by_signals
from ..machine.devices import Cluster
from ..machine.provenance import collect, meta
from ..monitor.sampler import INTERVAL, Sampler, source_for
from ..plan.bash import render
from ..plan.build import build
from ..plan.site import Site
from ..results.alive import alive
from ..results.rundir import RunDir, create
from ..results.runfile import BenchmarkState, RunState
from ..results.write import Heading, save_script
from . import report, setup

EXIT_CODES = {Outcome.OK: 0, Outcome.FAILED: 1, Outcome.CANCELLED: 130}


def main(options: argparse.Namespace) -> int:
    """Run the suite on this host; 0 where all of it ended ok, 1 where not, 130 when stopped."""
    base = setup.base_folder(options)
    system = setup.system(options)
    if system is not None and len(system.nodes) > 1:
        raise PlanError(
            f"{options.system} names {len(system.nodes)} nodes, and `run` starts on this one only: "
            f"leave one node, or print the script for all of them with `milabench dry --nodes`"
        )
    host = setup.this_host(options, system)
    suite = load(setup.request(options, system), setup.facts(host.cluster, system, base))
    jobs = _jobs(suite, host.cluster, options.repeat, setup.site(base))
    if not jobs:
        why = "".join(f"\n  {skip.name}: {skip.reason}" for skip in suite.skipped)
        raise SelectionError(f"{options.config}: nothing to run{why}")
    rundir = create(base, options.name)
    if not options.quiet:
        count = f"{len(jobs)} benchmark{'s' * (len(jobs) > 1)}"
        where = setup.describe(host.cluster)
        head = f"{rundir.path}: {count}, preset {suite.preset}, {where}"
        print(head, *host.notes, sep="\n", file=sys.stderr, flush=True)
    outcome = _measure(options, rundir, suite, host.cluster, jobs)
    report.show([str(rundir.path)], sys.stdout)
    return EXIT_CODES[outcome]


def _jobs(suite: Suite, cluster: Cluster, repeats: int, site: Site) -> list[Job]:
    return [Job(b, tuple(build(b, cluster, site, repeats))) for b in suite.benchmarks]


def _measure(
    options: argparse.Namespace, rundir: RunDir, suite: Suite, cluster: Cluster, jobs: Sequence[Job]
) -> Outcome:
    # Once, and before anything is started: the processes of a launch must start together.
    machine = collect(cluster.arch, cluster.nodes[0], sys.argv, os.environ)
    state = RunState(
        name=rundir.name,
        milabench=__version__,
        created=time.time(),
        command=machine["command"],
        preset=suite.preset,
        config=str(suite.path),
        machine=machine,
        suite={b.name: b.record for b in suite.benchmarks},
        skipped=[{"name": skip.name, "reason": skip.reason} for skip in suite.skipped],
        benchmarks=[BenchmarkState(job.benchmark.name) for job in jobs],
    )
    state.save(rundir.run_json)
    for job in jobs:
        comments = [f"{rundir.name}: {job.benchmark.name}, preset {job.benchmark.preset or 'none'}"]
        script = render(job.launches, sys.executable, comments)
        save_script(rundir, job.benchmark.name, script)
    inbox = Inbox()
    samples = Samples(inbox)
    with (
        alive(rundir.path),
        stopped_by_signals(inbox),
        _sampling(cluster, options.gpu_poll, samples),
        _display(options.quiet, [job.benchmark.name for job in jobs]) as watcher,
    ):
        heading = Heading(rundir.name, cluster.arch, meta(machine))
        agent = Agent(rundir, state, heading, watcher, samples, inbox, os.environ, options.grace)
        return agent.run(jobs)


@contextmanager
def _sampling(cluster: Cluster, interval: float | None, samples: Samples) -> Iterator[None]:
    """Sample the devices while benchmarks run; CPU slots have no sensors, 0 is never."""
    source = source_for(cluster.arch, cluster.nodes[0].devices)
    interval = INTERVAL if interval is None else interval
    if source is None or not interval:
        yield
        return
    sampler = Sampler(source, interval, samples, samples.problem)
    sampler.start()
    try:
        yield
    finally:
        sampler.stop()


@contextmanager
def _display(quiet: bool, names: Sequence[str]) -> Iterator[Watcher]:
    """Nothing, a live table on a terminal, or plain lines; on stderr, for stdout has the report."""
    if quiet:
        yield QuietDisplay()
    elif sys.stderr.isatty():
        from rich.console import Console

        with LiveDisplay(Console(stderr=True), names) as live:
            yield live
    else:
        yield PlainDisplay(sys.stderr)
