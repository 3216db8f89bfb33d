"""A run that is about to go on: created, or resumed where it was cut off."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..codec import read_record, write_record
from ..config.runner_profile import with_settings
from ..config.schema import Benchmark, Suite
from ..errors import RunDirError
from ..events import Outcome, Status
from ..results.read_state import read_benchmark, read_header
from ..results.run_dir import RunDir, create, is_alive
from ..results.run_plan import RunPlan
from ..results.state import BenchmarkState, RunHeader


@dataclass
class RunContext:
    """All that is needed to run what is missing of a run."""

    run: RunDir
    header: RunHeader
    plan: RunPlan
    benchmarks: tuple[Benchmark, ...]  # those of the plan that are to be run now
    is_resumed: bool = False
    detach: bool = False  # return as soon as it goes on without this process, where it does

    def save(self) -> None:
        """Write the header; raises RunDirError."""
        write_record(self.run.run_json, self.header)

    def reset(self) -> list[BenchmarkState]:
        """Let the benchmarks of a resumed run wait again; their earlier states, to take it back."""
        earlier = []
        for benchmark in self.benchmarks:
            name = benchmark.name
            if self.run.benchmark(name).is_dir():
                if state := read_benchmark(self.run, name, _ignore):
                    earlier.append(state)
                write_record(self.run.state_json(name), BenchmarkState(name))
        return earlier

    def finish(self, outcome: Outcome) -> Outcome:
        """Write down how the run ended; over all its benchmarks unless it was cancelled."""
        if outcome is not Outcome.CANCELLED:
            states = [read_benchmark(self.run, b.name, _ignore) for b in self.plan.benchmarks]
            outcome = overall(states)
        self.header.outcome, self.header.ended = outcome, time.time()
        self.save()
        return outcome


def overall(states: Iterable[BenchmarkState | None]) -> Outcome:
    """The outcome of a run that has ended: ok where all its benchmarks are."""
    all_ok = all(state is not None and state.status is Status.OK for state in states)
    return Outcome.OK if all_ok else Outcome.FAILED


def create_run(
    base: Path, name: str | None, suite: Suite, plan: RunPlan, machine: Mapping[str, Any]
) -> RunContext:
    """Make the folder of a new run, with its header and its plan.

    Args:
        base: the folder of ``runs/``.
        name: of the run; None for a new one.
        suite: what is run, and what is not.
        plan: how.
        machine: the provenance of this host.

    Raises:
        RunDirError: the folder cannot be made.
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
    )
    context = RunContext(run, header, plan, suite.benchmarks)
    context.save()
    write_record(run.plan_json, plan)
    return context


def resume_run(run: RunDir, settings: Mapping[str, str | int]) -> RunContext:
    """Take up a run that was cut off: what has a result is left alone.

    Args:
        run: its folder.
        settings: of the runner's profile, instead of those of its plan.

    Raises:
        RunDirError: there is no such run, or it has not ended.
    """
    if not run.path.is_dir():
        raise RunDirError(f"--resume: no run folder {run.path}")
    if is_alive(run.path):
        raise RunDirError(_goes_on(run))
    plan = read_record(run.plan_json, RunPlan)
    if plan.runner is not None:  # another queue, more time
        plan = replace(plan, runner=with_settings(plan.runner, settings))
    header = read_header(run)
    states = {b.name: read_benchmark(run, b.name, _ignore) for b in plan.benchmarks}
    missing = tuple(b for b in plan.benchmarks if not _is_final(states[b.name]))
    if any(is_alive(run.benchmark(b.name)) for b in missing):  # a cluster's job runs it
        raise RunDirError(_goes_on(run))
    context = RunContext(run, header, plan, missing, is_resumed=True)
    if missing:
        header.outcome = header.ended = None
    elif header.outcome not in (Outcome.OK, Outcome.FAILED):  # the end itself was cut off
        context.finish(overall(states.values()))
    return context


def _goes_on(run: RunDir) -> str:
    return f"{run.path} has not ended: `milabench watch {run.path}` follows it"


def _is_final(state: BenchmarkState | None) -> bool:
    return state is not None and state.is_final


def _ignore(_path: Path, _error: OSError | ValueError) -> None:
    """A damaged state is as good as none."""
