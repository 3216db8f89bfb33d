"""``milabench watch``: follow a run that goes on, and report at its end."""

import argparse
import sys
from pathlib import Path

from ..errors import RunDirError
from ..results.rundir import RunDir
from ..results.runfile import read_state
from . import batch, report
from .codes import EXIT_CODES
from .watching import onlooker


def main(options: argparse.Namespace) -> int:
    """Follow it; Ctrl-C ends the watching and nothing else."""
    rundir = RunDir(Path(options.run).absolute())
    state = read_state(rundir.run_json)
    if not state.jobs:
        raise RunDirError(f"{options.run} has no jobs of a scheduler: it is run by its own command")
    if state.outcome is not None:
        outcome = state.outcome
    else:
        with onlooker(len(state.benchmarks), quiet=False) as seen:
            outcome = batch.follow(rundir, state, seen, cancels=False)
    report.show([options.run], sys.stdout)
    return EXIT_CODES.get(outcome, 1)
