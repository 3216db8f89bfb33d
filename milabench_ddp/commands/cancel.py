"""``milabench cancel``: end the jobs of a run; what was measured stays."""

import sys
import time

from ..dispatch.follow_jobs import settle
from ..dispatch.schedulers import scheduler_of
from ..errors import DispatchError, RunDirError
from ..options.report import RunFolderOptions
from ..results.read_run import existing
from ..results.read_state import read_header, require_state

PATIENCE = 60  # seconds to wait for the jobs to end


def main(options: RunFolderOptions) -> int:
    """Cancel the jobs that have not ended, and wait for that; returns 0, also if all have ended."""
    run = existing(options.run)
    jobs = require_state(run).header.jobs
    if not jobs:
        raise RunDirError(
            f"{options.run} does not run in Slurm: stop its command, with Ctrl-C or SIGTERM"
        )
    scheduler = scheduler_of(run)
    found = scheduler.statuses([job.id for job in jobs])
    if found is None:
        raise DispatchError(f"Slurm does not answer (`squeue` fails): {options.run} goes on")
    going = [job for job, status in found.items() if not status.has_ended]
    if not scheduler.cancel(going):
        raise DispatchError(f"`scancel {' '.join(going)}` failed")
    print(f"cancelled: {', '.join(going) or 'nothing, all have ended'}", file=sys.stderr)
    for _ in range(PATIENCE):  # until the run has its verdicts, which another command may write
        settle(run)
        if read_header(run).outcome is not None:
            break
        time.sleep(1.0)
    return 0
