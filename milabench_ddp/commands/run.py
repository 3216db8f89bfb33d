"""``milabench run``: plan the suite, run it, and report."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..config.load import load
from ..config.system import System
from ..display.live import LiveDisplay
from ..display.plain import PlainDisplay, QuietDisplay
from ..errors import SelectionError
from ..events import Outcome
from ..launch.agent import Agent, Job, Watcher
from ..launch.node_run import LaunchRunner, SampleRouter, device_monitor
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..machine.detect import Detection, detect
from ..machine.provenance import collect, meta
from ..options import RunOptions
from ..plan.bash import render
from ..plan.planner import plan_launches
from ..results.planfile import RunPlan
from ..results.points import set_aside
from ..results.run_dir import alive
from ..results.write import DataHeader, save_script
from . import begin, many, report, setup
from .begin import Begun
from .codes import EXIT_CODES


def main(options: RunOptions) -> int:
    """Run the suite; 0 where all of it ended ok, 1 where not, 130 when stopped."""
    if options.resume is not None:
        begun = begin.again(options)
        if not begun.points:
            report.show([str(begun.rundir.path)], sys.stdout)
            return EXIT_CODES[begun.state.outcome or Outcome.FAILED]
        if begun.plan.runner:
            outcome = many.measure(options, begun)
        else:
            outcome = _measure(options, begun, detect(begun.plan.arch, begun.plan.gpus, os.environ))
    elif not options.config:
        raise SelectionError("which configuration? `milabench run CONFIG`, for example `ddp`")
    else:
        system = setup.read_system_of(options)
        runner = setup.resolve_runner(options, system)
        outcome = _run(options, system) if runner is None else many.run(options, system, runner)
    return EXIT_CODES[outcome]


def _run(options: RunOptions, system: System | None) -> Outcome:
    """On this host alone."""
    base = setup.base_folder(options)
    host = setup.detect_host(options, system)
    cluster = host.cluster
    suite = load(setup.request(options, system), setup.machine_facts(cluster, system, base))
    # Once, and before anything is started: the processes of a launch must start together.
    machine = collect(cluster.arch, cluster.nodes[0], sys.argv, os.environ)
    plan = RunPlan(
        benchmarks=suite.benchmarks,
        repeats=options.repeat,
        site=setup.site(base),
        arch=cluster.arch,
        gpus=len(cluster.nodes[0].devices),
        nodes=1,
        grace=options.grace,
        gpu_poll=options.gpu_poll,
    )
    for benchmark in suite.benchmarks:  # what cannot be laid out is said before there is a run
        plan_launches(benchmark, cluster, plan.site)
    return _measure(options, begin.new(options, base, suite, plan, machine), host)


def _measure(options: RunOptions, begun: Begun, host: Detection) -> Outcome:
    """Run what is to be run, and report on all of the run."""
    rundir, state, plan, cluster = begun.rundir, begun.state, begun.plan, host.cluster
    jobs = [Job(b, tuple(plan_launches(b, cluster, plan.site, plan.repeats))) for b in begun.points]
    if not options.quiet:
        count = f"{len(jobs)} benchmark{'s' * (len(jobs) != 1)}"
        head = f"{rundir.path}: {count}, preset {state.preset}, {setup.describe(cluster)}"
        print(head, *host.notes, sep="\n", file=sys.stderr, flush=True)
    for job in jobs:
        comments = [f"{rundir.name}: {job.benchmark.name}, preset {job.benchmark.preset or 'none'}"]
        script = render(job.launches, sys.executable, comments)
        set_aside(rundir.path, job.benchmark.name)
        save_script(rundir, job.benchmark.name, script)
    inbox = StopRequests()
    router = SampleRouter()
    with (
        alive(rundir.path),
        stopped_by_signals(inbox),
        device_monitor(cluster.arch, cluster.nodes[0].devices, plan.gpu_poll, router),
        _display(options.quiet, begin.names(begun.points)) as watcher,
    ):
        header = DataHeader(rundir.name, cluster.arch, meta(state.machine))
        runner = LaunchRunner(rundir, header, router, os.environ, plan.grace)
        outcome = Agent(rundir, state, runner, watcher, inbox).run(jobs)
    report.show([str(rundir.path)], sys.stdout)
    return outcome


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
