"""``milabench cancel``: end the jobs of a run; what was measured stays."""

import sys
import time
from collections.abc import Sequence

from ..dispatch.follow import settle
from ..dispatch.schedulers import scheduler_of
from ..errors import DispatchError, RunDirError
from ..options.reading import RunFolderOptions
from ..results.read_run import existing
from ..results.read_state import read_header, require_state
from ..results.run_dir import RunDir

PATIENCE = 60  # seconds to wait for the jobs to end


def main(options: RunFolderOptions) -> int:
    """Cancel the jobs that have not ended, and wait for that; returns 0, also if all have ended."""
    run = existing(options.run)
    if not require_state(run).header.jobs:
        raise RunDirError(
            f"{options.run} does not run in Slurm: stop its command, with Ctrl-C or SIGTERM"
        )
    cancelled = _cancel(run, [])
    print(f"cancelled: {', '.join(cancelled) or 'nothing, all have ended'}", file=sys.stderr)
    for _ in range(PATIENCE):  # until the run has its verdicts, which another command may write
        settle(run)
        if read_header(run).outcome is not None:
            break
        time.sleep(1.0)
        if more := _cancel(run, cancelled):
            print(f"cancelled: {', '.join(more)}, submitted meanwhile", file=sys.stderr)
            cancelled += more
    return 0


def _cancel(run: RunDir, before: Sequence[str]) -> list[str]:
    """Cancel the jobs that go on, except those already cancelled; returns their ids.

    Raises:
        DispatchError: the scheduler does not do it.
    """
    ids = [job.id for job in read_header(run).jobs if job.id not in before]
    if not ids:
        return []
    scheduler = scheduler_of(run)
    found = scheduler.statuses(ids)
    if found is None:
        raise DispatchError(f"Slurm does not answer (`squeue` fails): {run.path} goes on")
    going = [job for job, status in found.items() if not status.has_ended]
    if not scheduler.cancel(going):
        raise DispatchError(f"`scancel {' '.join(going)}` failed")
    return going
