"""What a run begins with: its folder, its state and its plan, new or taken up again."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..config.schema import Benchmark, Suite
from ..errors import RunDirError, SelectionError
from ..results.alive import is_alive
from ..results.planfile import RunPlan, read_plan
from ..results.points import is_final, read_point
from ..results.rundir import RunDir, create
from ..results.runfile import BenchmarkState, RunState, read_state


@dataclass(frozen=True)
class Begun:
    """A run that is about to go on."""

    rundir: RunDir
    state: RunState
    plan: RunPlan
    points: tuple[Benchmark, ...]  # those of the plan that are to be run now
    is_resumed: bool = False


def new(
    options: argparse.Namespace, base: Path, suite: Suite, plan: RunPlan, machine: Mapping[str, Any]
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


def again(options: argparse.Namespace) -> Begun:
    """Take up a run that was cut off: what has a result is left alone.

    Raises:
        RunDirError: it is none, still goes on, or has all its results.
        SelectionError: something was asked for that the run itself has decided.
    """
    decided = ("config", "select", "exclude", "override", "name")
    given = [name for name in decided if getattr(options, name)]
    if given:
        word = "CONFIG" if given[0] == "config" else f"--{given[0]}"
        raise SelectionError(f"--resume does what is missing in a run as it is: leave out {word}")
    rundir = RunDir(Path(options.resume).absolute())
    if not rundir.path.is_dir():
        raise RunDirError(f"--resume: no run folder {options.resume}")
    if is_alive(rundir.path):
        raise RunDirError(f"{options.resume} still goes on: `milabench watch {options.resume}`")
    plan, state = read_plan(rundir.plan_json), read_state(rundir.run_json)
    points = tuple(b for b in plan.benchmarks if not is_final(_known(rundir, state, b.name)))
    if not points:
        count = len(plan.benchmarks)
        print(f"{options.resume}: nothing is missing, all {count} have a result", file=sys.stderr)
    state.outcome = state.ended = None
    for entry in state.benchmarks:
        if any(point.name == entry.name for point in points):
            entry.__init__(entry.name)  # type: ignore[misc]
    return Begun(rundir, state, plan, points, is_resumed=True)


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
