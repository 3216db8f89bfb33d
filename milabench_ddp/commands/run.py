"""``milabench run``: plan the suite, run it, and report."""

import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import structs

from ..codec import plain, write_record
from ..config.audited import audited_in
from ..config.merge import read_suite
from ..config.runner_profile import read_profile
from ..config.schema import VALIDATE
from ..config.shipped import find_config
from ..config.tree import finalize, to_plain
from ..dispatch.node_request import NodeRequest
from ..dispatch.run_context import RunContext, RunPlan, create_run, other_sides, resume_run
from ..dispatch.runners import runner_of
from ..dispatch.runners.base import Runner
from ..display import show_progress
from ..errors import DispatchError, MilabenchError, SelectionError, contained, count_text, reason_of
from ..events import Outcome
from ..files import disk_use, read_bytes
from ..hidden import SECRETS
from ..interrupts import EndedBySignal
from ..machine.devices import Cluster, Node
from ..machine.provenance import collect
from ..options.suite import RunOptions, fixed_options
from ..plan.planner import new_seed, plan_launches
from ..results.find_run import named_run
from ..results.former import former_runs
from ..results.node_state import NodeState, NodeStatus
from ..results.read_state import read_header
from ..results.run_dir import RunDir, default_name
from ..table import size_text
from ..visible import in_line
from . import final_report, setup
from .forecast import forecast, outline
from .repetition import repetition_of
from .traces import make_traces


def main(options: RunOptions) -> int:
    """Run one suite or two; returns the gravest exit code, or 0 once the jobs of --detach exist."""
    try:
        with ExitStack() as stack:
            made = _create(options) if options.resume is None else _resume(options)
            return _run([stack.enter_context(closing(context)) for context in made], options)
    except EndedBySignal:  # before its benchmarks began, or while it reports: as after Ctrl-C
        return final_report.CANCELLED


def _run(contexts: Sequence[RunContext], options: RunOptions) -> int:
    if any(context.benchmarks for context in contexts):
        outcomes = _execute(contexts, options)
    else:
        outcomes = [context.header.outcome or Outcome.FAILED for context in contexts]
        count = sum(len(context.plan.benchmarks) for context in contexts)
        print(f"{options.resume}: nothing to run, all {count} have a result", file=sys.stderr)
    ended = zip(contexts, outcomes, strict=True)
    code = max([_report(context, outcome, options) for context, outcome in ended])
    if len(contexts) > 1 and code != final_report.CANCELLED:
        from ..options.reading import CompareOptions
        from . import compare  # few runs are compared

        before, after = (str(context.run.path) for context in contexts)
        print()
        with contained(partial(_tell, f"cannot compare {before} and {after}")):
            compare.main(CompareOptions(before=before, after=after))
    return code


def _execute(contexts: Sequence[RunContext], options: RunOptions) -> list[Outcome]:
    with ExitStack() as stack:
        observers = []
        for context in contexts:
            context.detach = options.detach
            names = [benchmark.name for benchmark in context.benchmarks]
            shown = outline(context.run, context.header, context.plan, names, is_watched=False)
            observers.append(stack.enter_context(show_progress(shown, quiet=options.quiet)))
        runs = list(zip(contexts, observers, strict=True))
        outcomes = runner_of(contexts[0].plan.runner).execute(*runs)
        for context, observer in runs:
            size, count = disk_use(context.run.path)
            observer.message(f"{context.run.path}: {size_text(size)} in {count} files")
        return outcomes


def _report(context: RunContext, outcome: Outcome, options: RunOptions) -> int:
    code = final_report.SUCCEEDED if outcome is Outcome.OK else final_report.FAILED
    with contained(partial(_tell, f"cannot report on {context.run.path}")):
        code = final_report.show(context.run.path, sys.stdout, options.fail_on)
    has_ended = context.header.outcome is not None and outcome is not Outcome.CANCELLED
    if options.profile != "never" and has_ended:
        print()
        with contained(partial(_tell, "no traces")):
            for sentence in make_traces(context, options.profile, quiet=options.quiet):
                print(sentence)
    if outcome is Outcome.CANCELLED:
        return final_report.CANCELLED
    is_detached = context.detach and context.header.outcome is None
    return final_report.SUCCEEDED if is_detached else code


def _tell(what: str, error: Exception) -> None:
    """Report an error after the run; its exit code still depends on its benchmarks alone.

    Raises:
        BrokenPipeError: the reader of the report is gone.
    """
    if isinstance(error, BrokenPipeError):
        raise error
    print(f"milabench: {what}: {reason_of(error)}", file=sys.stderr)


def _create(options: RunOptions) -> Iterator[RunContext]:
    if not options.config:
        raise SelectionError(
            "no configuration: name one of `milabench list`, for example `milabench run ddp`"
        )
    if not options.after:
        yield _created(options)
        return
    name = options.name or default_name()
    sides = f"{name}.before", f"{name}.after"
    seed = new_seed() if options.seed is None else options.seed
    both = replace(options, shuffle=True, seed=seed)
    setup.load_local_suite(replace(both, config=options.after))  # refused before A has a folder
    for config, name in zip((options.config, options.after), sides, strict=True):
        yield _created(replace(both, config=config, name=name), sides)


def _created(options: RunOptions, sides: tuple[str, ...] = ()) -> RunContext:
    system = setup.read_system_of(options)
    profile = setup.resolve_runner(options, system)
    if sides and profile is not None:
        raise SelectionError("two configurations need one node, this host: give no other --runner")
    if options.spare and profile is None:
        raise SelectionError("--spare needs several nodes: add --nodes, or --runner")
    request = setup.node_request(options, system, profile)
    runner = runner_of(profile)
    runner.check(request)
    repetition = repetition_of(options, profile)
    cluster = _cluster(runner, request, options.spare)
    suite, site, profile = setup.loaded(options, system, cluster, profile)
    for said in suite.warnings:
        print(f"milabench: warning: {in_line(said)}", file=sys.stderr)
    if not suite.benchmarks:
        why = "".join(f"\n  {skip.name}: {in_line(skip.reason)}" for skip in suite.skipped)
        raise SelectionError(f"{options.config}: nothing to run{why}")
    absent: Mapping[str, str] = {}
    if profile is not None and all(VALIDATE in each.tags for each in suite.benchmarks):
        profile, absent = runner.without_absent(profile)
    plan = RunPlan(
        benchmarks=suite.benchmarks,
        repeats=repetition.most,
        until=repetition.until,
        seed=repetition.seed,
        sides=sides,
        one_at_a_time=options.one_at_a_time,
        site=site,
        arch=cluster.arch,
        gpus=len(cluster.nodes[0].devices),
        nodes=len(cluster.nodes) - len(absent),
        spare=options.spare,
        grace=options.grace,
        gpu_poll=options.gpu_poll,
        runner=profile,
        hosts=request.hosts,
        sshkey=system.sshkey,
    )
    for benchmark in suite.benchmarks:  # a benchmark that cannot be laid out is refused now
        plan_launches(benchmark, cluster, plan.site)
    warnings = runner.preflight(plan, suite.benchmarks, cluster)
    node = cluster.nodes[0]
    if profile is not None:  # this host is none of them
        node = Node(socket.gethostname().split(".")[0], (), 0)
    machine = collect(cluster.arch, node, sys.argv, os.environ, audited_in(suite.benchmarks))
    if profile is not None and profile.python is not None:  # this one measures nothing
        machine |= {"packages": {}, "pytorch": {}, "python": ""}
    if profile is not None and profile.container is not None:
        machine["container"] = profile.container.facts()
    context = create_run(setup.base_folder(options), options.name, suite, plan, machine)
    for name, why in absent.items():
        write_record(context.run.node_json(name), NodeState(name, NodeStatus.FAILED, why))
    context.warnings = warnings
    if not options.quiet:
        _announce(context, cluster)
    return context


def _cluster(runner: Runner, request: NodeRequest, spare: int) -> Cluster:
    """The nodes to plan for, without those that stand by."""
    cluster = runner.cluster(structs.replace(request, nodes=request.nodes + spare))
    return structs.replace(cluster, nodes=cluster.nodes[: request.nodes])


def _resume(options: RunOptions) -> list[RunContext]:
    """The run, and the one that takes turns with it; A is first."""
    if flags := fixed_options(options):
        raise SelectionError(f"--resume cannot change the plan of a run: leave out {flags[0]}")
    run = RunDir(named_run(options.resume or "", setup.base_folder(options)).absolute())
    first = _resumed(options, run)
    found = [first, *[_resumed(options, other) for other in other_sides(run, first.header)]]
    return sorted(found, key=lambda context: context.header.sides[1:] == (context.header.name,))


def _resumed(options: RunOptions, run: RunDir) -> RunContext:
    _learn_again(run)
    context = resume_run(run, options.settings)
    plan = context.plan
    setup.check_settings(options, plan.runner)
    own = plan.runner and plan.runner.container
    if own and own.facts() != context.header.machine.get("container"):
        raise DispatchError(
            f"{own.image} has changed since the run began: what is missing would be measured with "
            f"other software: begin a new run"
        )
    if context.benchmarks:
        request = NodeRequest(plan.nodes, plan.gpus, plan.arch, plan.hosts)
        # A host that lacks the devices is refused before the state of the run is touched.
        runner = runner_of(plan.runner)
        cluster = _cluster(runner, request, plan.spare)
        context.warnings = runner.preflight(plan, context.benchmarks, cluster)
        if not options.quiet:
            _announce(context, cluster)
    return context


def _learn_again(run: RunDir) -> None:
    """Learn the secrets of a run that is resumed, as its configuration and its profile have them.

    What they do not have any more is asked of the environment, when the plan is read.
    """
    with suppress(MilabenchError, OSError, ValueError):
        suite = read_suite(find_config(read_header(run).config), lambda _: None)
        SECRETS.learn(to_plain(finalize(suite)))
        stated = json.loads(read_bytes(run.plan_json))["runner"] or {}
        if path := stated.get("path"):
            SECRETS.learn(plain(read_profile(Path(path))))


def _announce(context: RunContext, cluster: Cluster) -> None:
    count = count_text(len(context.benchmarks), "benchmark")
    place = setup.describe(cluster)
    if spare := context.plan.spare:
        place += f", and {spare} to stand by"
    lines = [f"{context.run.path}: {count}, preset {context.header.preset}, {place}"]
    if context.plan.seed is not None:
        lines.append(f"in random order: --shuffle --seed {context.plan.seed}")
    if not context.is_resumed:  # else some of the launches are done
        former = former_runs(context.run, context.header)
        lines += filter(None, [forecast(context.plan, context.benchmarks, former)])
    lines += cluster.nodes[0].notes
    lines += [f"warning: {said}" for said in setup.hazards(context.benchmarks, cluster)]
    print(*map(in_line, lines), sep="\n", file=sys.stderr, flush=True)
