"""What a run begins with: its folder, its state and its plan, new or taken up again."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..config.schema import Benchmark, Suite
from ..errors import RunDirError, SelectionError
from ..events import Outcome
from ..options import RunOptions, fixed_options
from ..results.planfile import RunPlan, read_plan
from ..results.points import is_final, read_point, save_point
from ..results.run_dir import RunDir, create, is_alive
from ..results.runfile import BenchmarkState, RunState, benchmark_state, read_state
from . import setup

_GOES_ON = "{0} still goes on: `milabench watch {0}`"


@dataclass(frozen=True)
class Begun:
    """A run that is about to go on."""

    rundir: RunDir
    state: RunState
    plan: RunPlan
    points: tuple[Benchmark, ...]  # those of the plan that are to be run now
    is_resumed: bool = False


def new(
    options: RunOptions, base: Path, suite: Suite, plan: RunPlan, machine: Mapping[str, Any]
) -> Begun:
    """Make the folder of a new run.

    Raises:
        SelectionError: there is nothing to run.
        RunDirError: the folder cannot be made.
    """
    if not suite.benchmarks:
        why = "".join(f"\n  {skip.name}: {skip.reason}" for skip in suite.skipped)
        raise SelectionError(f"{options.config}: nothing to run{why}")
    rundir = create(base, options.name)
    state = RunState(
        name=rundir.name,
        milabench=__version__,
        created=time.time(),
        command=machine["command"],
        preset=suite.preset,
        config=str(suite.path),
        machine=dict(machine),
        suite={b.name: b.record for b in suite.benchmarks},
        skipped=[{"name": skip.name, "reason": skip.reason} for skip in suite.skipped],
        benchmarks=[BenchmarkState(b.name) for b in suite.benchmarks],
    )
    state.save(rundir.run_json)
    plan.save(rundir.plan_json)
    return Begun(rundir, state, plan, suite.benchmarks)


def again(options: RunOptions) -> Begun:
    """Take up a run that was cut off: what has a result is left alone.

    Raises:
        RunDirError: it is none, or still goes on.
        SelectionError: something was asked for that the run itself has decided.
    """
    if given := fixed_options(options):
        raise SelectionError(
            f"--resume does what is missing in a run as it is: leave out {given[0]}"
        )
    rundir = RunDir(Path(options.resume or "").absolute())
    if not rundir.path.is_dir():
        raise RunDirError(f"--resume: no run folder {options.resume}")
    if is_alive(rundir.path):
        raise RunDirError(_GOES_ON.format(options.resume))
    plan, state = read_plan(rundir.plan_json), read_state(rundir.run_json)
    setup.check_settings(options, plan.runner.get("kind"))
    plan = replace(plan, runner={**plan.runner, **options.settings})  # another queue, more time
    known = {b.name: _known(rundir, state, b.name) for b in plan.benchmarks}
    points = tuple(b for b in plan.benchmarks if not is_final(known[b.name]))
    if any(is_alive(rundir.path / point.name) for point in points):  # led by a cluster's job
        raise RunDirError(_GOES_ON.format(options.resume))
    if not points:
        count = len(plan.benchmarks)
        print(f"{options.resume}: nothing is missing, all {count} have a result", file=sys.stderr)
        if state.outcome not in (Outcome.OK, Outcome.FAILED):  # the end itself was cut off
            state.outcome, state.ended = overall(known.values()), time.time()
            state.save(rundir.run_json)
        return Begun(rundir, state, plan, (), is_resumed=True)
    state.outcome = state.ended = None
    waiting = {point.name: BenchmarkState(point.name) for point in points}
    state.benchmarks = [waiting.get(entry.name, entry) for entry in state.benchmarks]
    return Begun(rundir, state, plan, points, is_resumed=True)


def reopen(begun: Begun) -> list[BenchmarkState]:
    """Let the points of a resumed run wait again; what was said of them, to take this back."""
    earlier = []
    for point in begun.points if begun.is_resumed else ():
        folder = begun.rundir.path / point.name
        with suppress(OSError, ValueError, TypeError, KeyError):  # one that nobody can read is gone
            if found := read_point(folder):
                earlier.append(benchmark_state(found))
        if folder.is_dir():
            save_point(folder, BenchmarkState(point.name))
    return earlier


def overall(states: Iterable[Mapping[str, Any] | None]) -> Outcome:
    """Of a run that has ended: ok where all its benchmarks are."""
    good = all(state is not None and state.get("outcome") == Outcome.OK for state in states)
    return Outcome.OK if good else Outcome.FAILED


def overall_on_disk(begun: Begun) -> Outcome:
    """The same, of a run whose benchmarks have files of their own."""
    return overall(_known(begun.rundir, begun.state, b.name) for b in begun.plan.benchmarks)


def _known(rundir: RunDir, state: RunState, name: str) -> Mapping[str, Any] | None:
    """What is known of a benchmark: from its own file, or from ``run.json``."""
    try:
        found = read_point(rundir.path / name)
    except (OSError, ValueError, TypeError):
        return None
    if found is not None:
        return found
    return next((vars(entry) for entry in state.benchmarks if entry.name == name), None)


def names(points: Sequence[Benchmark]) -> list[str]:
    """Of the benchmarks."""
    return [point.name for point in points]
