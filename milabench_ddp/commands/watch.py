"""``milabench watch`` and ``cancel``: what another command may do with a run that goes on."""

import sys
import time
from collections.abc import Sequence

from ..codec import read_record
from ..dispatch.follow import settle, watch_run
from ..dispatch.run_context import RunPlan
from ..dispatch.schedulers import scheduler_of
from ..display import show_progress
from ..errors import DispatchError, RunDirError
from ..events import Outcome
from ..options.reading import RunFolderOptions
from ..results.find_run import existing, named_run
from ..results.read_state import read_header, require_state
from ..results.run_dir import RunDir
from . import final_report
from .forecast import outline

PATIENCE = 60  # seconds to wait for the jobs to end


def main(options: RunFolderOptions) -> int:
    run = existing(options.run)
    header = read_header(run)
    outcome = header.outcome
    if outcome is None:
        try:
            plan = read_record(run.plan_json, RunPlan)
        except RunDirError:
            plan = None  # of an earlier version
        shown = outline(run, header, plan, list(header.suite), is_watched=True)
        with show_progress(shown, quiet=False) as observer:
            outcome = watch_run(run, header, observer)
    code = final_report.show(named_run(options.run), sys.stdout)
    return final_report.CANCELLED if outcome is Outcome.CANCELLED else code


def cancel(options: RunFolderOptions) -> int:
    """Cancel the jobs that have not ended, and wait for that; returns 0, also if all have ended."""
    run = existing(options.run)
    if not require_state(run).header.jobs:
        raise RunDirError(
            f"{run.path} does not run in Slurm: stop its command, with Ctrl-C or SIGTERM"
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
    """Cancel the jobs that go on, except those already cancelled; returns their ids."""
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
