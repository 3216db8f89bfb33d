"""Follows the jobs of a run to their end, and writes how the run ended; only one command does."""

import shlex
import time
from contextlib import closing, nullcontext

from ..events import Outcome
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..progress import ProgressObserver
from ..results.lock import alive, is_alive
from ..results.read_state import read_header, require_state
from ..results.run_dir import RunDir, save_state
from ..results.state import RunHeader, overall
from .job_follower import FORGET
from .run_follower import RunFollower
from .schedulers import Scheduler, scheduler_of

GOES_ON = "no longer watched; the run goes on: `milabench watch {0}` follows it"


def follow_jobs(
    run: RunDir,
    header: RunHeader,
    observer: ProgressObserver,
    scheduler: Scheduler,
    *,
    cancels: bool,
) -> Outcome:
    """Follow a run's jobs to their end; with ``cancels``, Ctrl-C cancels them.

    The caller holds the run's lock: this writes how the run ended.
    """
    with closing(StopRequests()) as requests, stopped_by_signals(requests):
        follower = RunFollower(run, header, observer, scheduler, tells_ended=not cancels)
        has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended and cancels:
            observer.message("cancelling the jobs")
            scheduler.cancel([job.id for job in header.jobs if not job.state])
            requests.stops = 0
            has_ended = follower.follow(lambda: bool(requests.stops))
        if not has_ended:
            observer.message(GOES_ON.format(shlex.quote(str(run.path))))
            return Outcome.CANCELLED
        return _write_end(run, header, follower)


def _write_end(run: RunDir, header: RunHeader, follower: RunFollower) -> Outcome:
    header.outcome = overall(follower.statuses.values())
    header.ended = time.time()
    save_state(run, run.run_json, header)
    return header.outcome


def settle(run: RunDir) -> None:
    """Write how a run ended whose jobs have ended while no command followed it.

    Nothing happens if it goes on, if another command follows it, or if the scheduler does not
    answer.

    Raises:
        MilabenchError: it cannot be read or written.
    """
    header = read_header(run)
    if header.outcome is not None or not header.jobs:
        return
    with alive(run.path) as is_mine:
        if is_mine:
            header = read_header(run)
            age = time.time() - run.run_json.stat().st_mtime
            forget = 0.0 if age > FORGET else FORGET
            scheduler = scheduler_of(run)
            follower = RunFollower(run, header, ProgressObserver(), scheduler, forget=forget)
            if header.outcome is None and follower.has_ended():
                _write_end(run, header, follower)


def watch_run(run: RunDir, header: RunHeader, observer: ProgressObserver) -> Outcome:
    """Follow a run that goes on; Ctrl-C ends only the watching.

    ``header`` is read from the file: if the jobs ended while unwatched, it has no outcome yet.
    """
    while True:
        with alive(run.path) if header.jobs else nullcontext() as is_mine:
            if is_mine and (found := read_header(run)).outcome is None:
                return follow_jobs(run, found, observer, scheduler_of(run), cancels=False)
        # Another command runs it or follows its jobs, and writes how it ends.
        with closing(StopRequests()) as requests, stopped_by_signals(requests):
            follower = RunFollower(run, header, observer, tells_ended=True)
            has_ended = follower.follow(
                lambda: bool(requests.stops or (header.jobs and not is_alive(run.path)))
            )
            if requests.stops and not has_ended:
                observer.message(GOES_ON.format(shlex.quote(str(run.path))))
                return Outcome.CANCELLED
        if has_ended:
            return require_state(run).header.outcome or Outcome.LOST
