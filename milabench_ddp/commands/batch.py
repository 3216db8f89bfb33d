"""Runs that happen in jobs of a cluster's scheduler: hand them over, and follow."""

import shutil
import time

from ..config.runner_profile import profile_of
from ..dispatch import slurm
from ..dispatch.engine import Engine, engine_of, engine_of_run
from ..dispatch.follow import Follower
from ..dispatch.jobs import jobs_of
from ..dispatch.onlooker import Onlooker
from ..errors import DispatchError, RunDirError
from ..events import Outcome
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..results.points import is_final, read_point, save_point
from ..results.run_dir import RunDir, alive
from ..results.runfile import RunState
from . import begin
from .begin import Begun
from .watching import GOES_ON, onlooker


def measure(begun: Begun, *, quiet: bool, detach: bool) -> Outcome:
    """Submit the jobs, and follow them until all points have ended; Ctrl-C cancels them.

    Raises:
        DispatchError: the scheduler refuses.
        RunDirError: a run that is to be resumed has jobs that have not ended.
    """
    rundir, state, plan = begun.rundir, begun.state, begun.plan
    runner = profile_of(plan.runner)
    _check_jobs(rundir, state, engine_of(runner.cluster))
    wanted = jobs_of(begun.points, plan.nodes, runner.allocation)
    earlier = begin.reopen(begun)
    try:
        state.jobs += slurm.submit(rundir.path, runner, wanted)
    except DispatchError:
        for point in earlier:
            save_point(rundir.path / point.name, point)
        if not state.jobs and not begun.is_resumed:
            shutil.rmtree(rundir.path)  # there is nothing in it, and its name is free again
        raise
    state.save(rundir.run_json)
    with onlooker(len(state.benchmarks), quiet=quiet) as seen:
        for job in state.jobs[-len(wanted) :]:
            seen.say(f"job {job['id']}: nodes: {job['nodes']}, points: {len(job['points'])}")
        if detach:
            seen.say(f"detached: `milabench watch {rundir.path}` follows it")
            return Outcome.OK
        return follow(rundir, state, seen, cancels=True)


def _check_jobs(rundir: RunDir, state: RunState, engine: Engine) -> None:
    """A job that still waits in the queue has no leader yet, but will do the same points."""
    ids = [job["id"] for job in state.jobs if not job["state"]]
    found = engine.states(ids) if ids else {}
    if found is None:
        raise DispatchError(
            f"Slurm does not say whether job {', '.join(ids)} of {rundir.path} still goes on: "
            f"`squeue` fails here"
        )
    going = [f"{job} is {each.word}" for job, each in found.items() if not each.has_ended]
    if going:
        raise RunDirError(
            f"{rundir.path} still goes on (job {', '.join(going)}): `milabench watch` follows it, "
            f"`milabench cancel` ends it"
        )


def follow(rundir: RunDir, state: RunState, seen: Onlooker, *, cancels: bool) -> Outcome:
    """Follow a run's jobs to their end; a Ctrl-C cancels them, or only ends the watching."""
    inbox = StopRequests()
    points = [entry.name for entry in state.benchmarks]
    done = {name: found for name in points if is_final(found := read_point(rundir.path / name))}
    rest = [name for name in points if name not in done]
    limits = {name: float(state.suite[name]["max_duration"]) for name in rest}
    engine = engine_of_run(rundir)
    follower = Follower(rundir, rest, state.jobs, seen, engine.states, limits)
    with alive(rundir.path), stopped_by_signals(inbox):
        has_ended = follower.follow(lambda: bool(inbox.stops))
        if not has_ended and cancels:
            seen.say("cancelling the jobs")
            engine.cancel([job["id"] for job in state.jobs if not job["state"]])
            inbox.stops = 0
            has_ended = follower.follow(lambda: bool(inbox.stops))
        if not has_ended:
            seen.say(GOES_ON.format(rundir.path))
            return Outcome.CANCELLED
        ended = {str(each["outcome"]) for each in done.values() if each is not None}
        outcomes = ended | set(follower.outcomes.values())
        if Outcome.CANCELLED in outcomes:
            state.outcome = Outcome.CANCELLED
        else:
            state.outcome = Outcome.OK if outcomes <= {Outcome.OK} else Outcome.FAILED
        state.ended = time.time()
        state.save(rundir.run_json)
    return state.outcome
