"""``milabench watch``: follow a run that goes on, and report at its end."""

import sys
from pathlib import Path

from ..dispatch.onlooker import Onlooker
from ..dispatch.watch import watch
from ..events import Outcome
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..options import RunFolderOptions
from ..results.run_dir import RunDir
from ..results.runfile import read_state
from . import batch, report
from .codes import EXIT_CODES
from .watching import GOES_ON, onlooker


def main(options: RunFolderOptions) -> int:
    """Follow it; Ctrl-C ends the watching and nothing else."""
    rundir = RunDir(Path(options.run).absolute())
    state = read_state(rundir.run_json)
    outcome = state.outcome
    if outcome is None:
        with onlooker(len(state.benchmarks), quiet=False) as seen:
            if state.jobs:
                outcome = batch.follow(rundir, state, seen, cancels=False)
            else:
                outcome = _look_on(rundir, seen)
    report.show([options.run], sys.stdout)
    return EXIT_CODES.get(outcome, 1)


def _look_on(rundir: RunDir, seen: Onlooker) -> Outcome:
    """The command that runs it has its process elsewhere: only its folder is looked at."""
    inbox = StopRequests()
    with stopped_by_signals(inbox):
        outcome = watch(rundir.path, seen, lambda: bool(inbox.stops))
    if outcome is None:
        seen.say(GOES_ON.format(rundir.path))
        return Outcome.CANCELLED
    return outcome
