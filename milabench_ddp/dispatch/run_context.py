"""A run that is about to begin, new or resumed, and its plan, the file ``plan.json``.

History of the schema of ``plan.json``:
    1  the runner's profile and the plan of each benchmark were mappings
    2  all of it is records
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from .. import __version__
from ..codec import encode, plain, read_record, write_record
from ..config.runner_profile import RunnerProfile, with_settings
from ..config.schema import Benchmark, Suite
from ..config.system import SystemNode
from ..errors import RunDirError
from ..events import Outcome, Status, Verdict
from ..hidden import SECRETS
from ..plan.command_line import Site
from ..results.isolation import read_isolation
from ..results.lock import claimed, goes_on, is_alive
from ..results.node_state import begin_attempt
from ..results.read_state import read_benchmark, read_header
from ..results.records import Payload
from ..results.run_dir import RunDir, create, create_folder, reserve, save_state
from ..results.state import BenchmarkState, LaunchState, RunHeader, overall


class RunPlan(Struct, frozen=True):
    """The benchmarks of a run and how they are run, without the machine.

    The agents of its nodes and ``--resume`` read it.
    """

    benchmarks: tuple[Benchmark, ...]
    repeats: int  # with ``until`` at most
    site: Site
    arch: str
    gpus: int | None  # devices of a node; None for all devices
    nodes: int
    grace: float  # seconds between SIGTERM and SIGKILL
    gpu_poll: float | None  # seconds between samples of the devices; None for the default
    runner: RunnerProfile | None = None  # None: this host alone
    hosts: tuple[SystemNode, ...] = ()  # those that ssh reaches, the main one first
    sshkey: Path | None = None
    until: float | None = None  # how narrow intervals are to be, as a fraction of the rate
    seed: int | None = None  # of the random order; None: the order of the configuration
    sides: tuple[str, ...] = ()  # the names of two runs that take turns, of which this is one
    one_at_a_time: bool = False  # nothing runs beside a benchmark, not even on other nodes
    spare: int = 0  # nodes that take the place of those that do not start or are lost
    schema: Literal[2] = 2  # a plan of another schema is refused


def read_plan(run: RunDir) -> RunPlan:
    """The plan of a run, with the secrets that its file hides.

    They are those of this process or, where they were left out, of its environment.
    """
    plan = read_record(run.plan_json, RunPlan, SECRETS.reveal)
    for benchmark in plan.benchmarks:
        benchmark.heed_secrets()
    return plan


def write_plan(run: RunDir, plan: RunPlan) -> None:
    hidden = SECRETS.learn(plain(plan))
    SECRETS.take_plan(encode(hidden).decode())
    write_record(run.plan_json, hidden)


class RunContext(Struct):
    """A run with the benchmarks that it still has to run; ``close`` releases its lock."""

    run: RunDir
    header: RunHeader
    plan: RunPlan
    benchmarks: tuple[Benchmark, ...]  # those of the plan that have no final result
    is_resumed: bool = False
    detach: bool = False  # return once the jobs are submitted
    warnings: tuple[str, ...] = ()  # of the preflight of this host
    lock: ExitStack = field(default_factory=ExitStack)  # held until nothing is written any more

    def close(self) -> None:
        self.lock.close()

    def save(self) -> None:
        save_state(self.run, self.run.run_json, self.header)

    def reset(self) -> list[BenchmarkState]:
        """Set the benchmarks of a resumed run to waiting; returns their earlier states.

        They keep their launches: those that ended ok need not run again.
        """
        reserve(self.run)
        begin_attempt(self.run)
        earlier = []
        for benchmark in self.benchmarks:
            name = benchmark.name
            if self.run.benchmark(name).is_dir():
                kept: list[LaunchState] = []
                if state := read_benchmark(self.run, name):
                    earlier.append(state)
                    kept = state.launches
                for other in other_sides(self.run, self.header):
                    # a launch long before its counterpart is no pair with it: both run again
                    if paired := read_benchmark(other, name):
                        done = {each.repeat for each in paired.launches if each.verdict.is_ok}
                        kept = [launch for launch in kept if launch.repeat in done]
                write_record(self.run.state_json(name), BenchmarkState(name, launches=kept))
        return earlier

    def finish(self, outcome: Outcome) -> Outcome:
        """Write the end of the run; its benchmarks decide the outcome, unless it is cancelled."""
        if outcome is not Outcome.CANCELLED:
            statuses = []
            for benchmark in self.plan.benchmarks:
                state = read_benchmark(self.run, benchmark.name)
                statuses.append(state.status if state else Status.LOST)
            outcome = overall(statuses)
        self.header.outcome, self.header.ended = outcome, time.time()
        self.save()
        return outcome


def create_run(
    base: Path, name: str | None, suite: Suite, plan: RunPlan, machine: Payload
) -> RunContext:
    """Make the folder of a new run, with its header and its plan.

    Args:
        base: the folder that has ``runs/``.
        name: the name of the run; None for a generated name.
    """
    run = create(base, name)
    header = RunHeader(
        name=run.name,
        milabench=__version__,
        created=time.time(),
        command=machine["command"],
        preset=suite.preset,
        config=str(suite.path),
        machine=dict(machine),
        suite={benchmark.name: benchmark.record for benchmark in suite.benchmarks},
        skipped=list(suite.skipped),
        seed=plan.seed,
        sides=plan.sides,
    )
    return _begun(run, header, plan)


def _begun(run: RunDir, header: RunHeader, plan: RunPlan) -> RunContext:
    lock = ExitStack()
    lock.enter_context(claimed(run.path))
    context = RunContext(run, header, plan, plan.benchmarks, lock=lock)
    write_plan(run, plan)
    context.save()
    return context


def begin_traces(context: RunContext, benchmarks: tuple[Benchmark, ...]) -> RunContext:
    """A run of these benchmarks in ``<run>/traces``, as ``context`` was run; once each."""
    run = create_folder(context.run.traces)
    records = {benchmark.name: benchmark.record for benchmark in benchmarks}
    header = replace(
        context.header, name=f"{context.run.name}: traces", created=time.time(),
        suite=records, skipped=[], jobs=[], outcome=None, ended=None, sides=(),
    )  # fmt: skip
    plan = replace(context.plan, benchmarks=benchmarks, repeats=1, until=None)
    return _begun(run, header, plan)


def resume_run(run: RunDir, settings: Mapping[str, str | int]) -> RunContext:
    """Resume a run that was cut off; benchmarks with a final result are not run again."""
    if not run.path.is_dir():
        raise RunDirError(f"--resume: no run folder {run.path}")
    with ExitStack() as lock:
        # before the first look: two commands may resume at once
        lock.enter_context(claimed(run.path))
        context = _resumed(run, settings)
        context.lock = lock.pop_all()
    return context


def _resumed(run: RunDir, settings: Mapping[str, str | int]) -> RunContext:
    plan = read_plan(run)
    if plan.runner is not None:  # for example another queue or more time
        plan = replace(plan, runner=with_settings(plan.runner, settings))
    header = read_header(run)
    missing = missing_benchmarks(run, plan.benchmarks, other_sides(run, header))
    for benchmark in missing:
        if is_alive(run.benchmark(benchmark.name)):  # a job on the cluster runs it
            raise RunDirError(goes_on(run.benchmark(benchmark.name)))
    context = RunContext(run, header, plan, missing, is_resumed=True)
    if missing:
        header.outcome = header.ended = None
        header.unwritten = {}
    elif header.outcome not in (Outcome.OK, Outcome.FAILED):  # cut off before its end
        context.finish(Outcome.OK)
    return context


def other_sides(run: RunDir, header: RunHeader) -> list[RunDir]:
    """The run that takes turns with this one, if one does; it is in the same folder."""
    return [RunDir(run.path.parent / name) for name in header.sides if name != header.name]


def missing_benchmarks(
    run: RunDir, benchmarks: Iterable[Benchmark], others: Iterable[RunDir] = ()
) -> tuple[Benchmark, ...]:
    """Those that have no final result, here or in others, or whose isolation is not done.

    A damaged state is as good as none.
    """
    missing = []
    for benchmark in benchmarks:
        own, *theirs = (read_benchmark(each, benchmark.name) for each in (run, *others))
        isolation = read_isolation(run, benchmark.name)
        are_final = own is not None and all(each.is_final for each in (own, *filter(None, theirs)))
        if not are_final or (isolation is not None and isolation.is_open):
            missing.append(benchmark)
    return tuple(missing)


def end_unrun(run: RunDir, name: str, verdict: Verdict, *, interrupted: bool = False) -> None:
    """Write how a benchmark ends that does not run; it keeps the launches of earlier attempts."""
    state = read_benchmark(run, name) or BenchmarkState(name)
    state.end(verdict)
    state.interrupted = state.interrupted or interrupted
    save_state(run, run.state_json(name), state)
