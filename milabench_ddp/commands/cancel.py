"""``milabench cancel``: end the jobs of a run; what was measured stays."""

import argparse
import sys
from pathlib import Path

from ..dispatch import scheduler
from ..errors import DispatchError, RunDirError
from ..results.rundir import RunDir
from ..results.runfile import read_state


def main(options: argparse.Namespace) -> int:
    """Cancel the jobs that have not ended; 0 also where there are none."""
    rundir = RunDir(Path(options.run).absolute())
    state = read_state(rundir.run_json)
    if not state.jobs:
        raise RunDirError(
            f"{options.run} has no jobs of a scheduler: stop its command, by Ctrl-C or SIGTERM"
        )
    known = scheduler.states([job["id"] for job in state.jobs])
    ids = [job["id"] for job in state.jobs if job["id"] in known]
    going = [job for job in ids if not known[job].has_ended]
    if not scheduler.cancel(going):
        raise DispatchError(f"Slurm did not take `scancel {' '.join(going)}`")
    print(f"cancelled: {', '.join(going) or 'nothing, all have ended'}", file=sys.stderr)
    return 0
