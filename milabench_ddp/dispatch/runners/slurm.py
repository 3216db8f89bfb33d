"""Runs on Slurm: submits jobs, and follows them until they have ended."""

import io
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr

from ...codec import write_record
from ...config.runner_profile import RunnerProfile
from ...errors import DispatchError, RunDirError
from ...events import Outcome
from ...hidden import GIVEN, SECRETS
from ...results.run_dir import RunDir
from ...results.state import JobState, RunHeader
from ...visible import in_line
from .. import slurm_queue
from ..follow import follow_jobs
from ..job_follower import job_folder
from ..schedulers import SCHEDULERS, Scheduler, split_into_jobs
from ..slurm_nodes import fewest_cpus, without_absent
from . import slurm_job
from .base import ObservedRun, Runner, ScriptRequest
from .slurm_script import parameters, render_jobs

NO_GRES = (
    "; if Slurm knows no GPUs of its nodes (`sinfo -o %G` says so), set `gres: false` in the "
    "runner profile"
)
_OF_NODES = re.compile(r"node configuration|gres", re.I)
_BUSY = re.compile(r"timed out|timeout|unable to contact|connection refused|zero bytes", re.I)
_COMPLETING = 60  # seconds that a job may take to end after its benchmarks have


class SlurmRunner(Runner):
    """Submits the benchmarks to a scheduler, as one job or as one job each."""

    count_options = "--gpus-per-node N, or `gpus_per_node: N` in the runner profile"

    def node_cpus(self, profile: RunnerProfile) -> int | None:
        if profile.cpus_per_task is not None or profile.cluster != "slurm":
            return profile.cpus_per_task
        return fewest_cpus(profile)

    def without_absent(self, profile: RunnerProfile) -> tuple[RunnerProfile, Mapping[str, str]]:
        return without_absent(profile)

    def script(self, request: ScriptRequest) -> str:
        if not request.launches or request.profile is None:
            raise DispatchError("there is nothing to submit; `milabench list` says why")
        return render_jobs(request)

    def execute(self, *runs: ObservedRun) -> list[Outcome]:
        [(context, observer)] = runs
        run, header, profile = context.run, context.header, context.plan.runner
        assert profile is not None
        scheduler = SCHEDULERS[profile.cluster]
        _check_jobs(run, header, scheduler)
        jobs = split_into_jobs(context.benchmarks, context.plan.nodes, profile.allocation)
        for job in jobs:
            job.nodes += context.plan.spare
        earlier, before = context.reset(), list(header.jobs)

        def note(submitted: Sequence[JobState]) -> None:
            header.jobs += submitted
            context.save()

        try:
            submit(run, profile, jobs, note)
        except DispatchError:
            header.jobs[:] = before
            context.save()
            for state in earlier:
                write_record(run.state_json(state.name), state)
            if not context.is_resumed:
                shutil.rmtree(run.path)  # it is empty, and its name can be used again
            raise
        for job in jobs:
            observer.message(f"job {job.id}: nodes: {job.nodes}, benchmarks: {len(job.benchmarks)}")
        if context.detach:
            observer.message(f"detached: `milabench watch {shlex.quote(str(run.path))}` follows it")
            return [Outcome.OK]
        return [follow_jobs(run, header, observer, scheduler, cancels=True)]


def submit(
    run: RunDir,
    profile: RunnerProfile,
    jobs: Sequence[JobState],
    note: Callable[[Sequence[JobState]], None],
) -> None:
    """Submit jobs; those with the same number of nodes are an array, or several of Slurm's most.

    ``note`` gets them with their ids as soon as they are submitted: a job that is on no record does
    nothing.

    Raises:
        DispatchError: there is no scheduler here, or it refuses the jobs.
    """
    if profile.cluster == "slurm" and not shutil.which("sbatch"):
        raise DispatchError(
            "there is no Slurm here (no `sbatch` on the PATH): run this on a node from which jobs "
            "are submitted, or use several nodes of this machine with --runner local"
        )
    if profile.cluster != "slurm" and any(job.nodes > 1 for job in jobs):
        raise DispatchError(
            f"cluster: {profile.cluster} has one node: use --runner local for several nodes of "
            f"this machine, or cluster: slurm"
        )
    most = len(jobs)
    if most > 1 and profile.cluster == "slurm":
        most = slurm_queue.most_in_array()
    for nodes in dict.fromkeys(job.nodes for job in jobs):
        group = [job for job in jobs if job.nodes == nodes]
        for some in (group[begin : begin + most] for begin in range(0, len(group), most)):
            try:
                _submit_array(run, profile, nodes, some)
                note(some)
            except DispatchError:
                slurm_queue.cancel([job.id for job in jobs if job.id])  # submit all, or none
                raise


def _submit_array(
    run: RunDir, profile: RunnerProfile, nodes: int, jobs: Sequence[JobState]
) -> None:
    import submitit

    folder = job_folder(run, profile)
    if in_line(str(folder)) != str(folder):  # each is a line of a script
        raise DispatchError(
            f"{folder} cannot be a folder of Slurm's jobs: it has invisible characters: "
            "choose another --base or --job-dir"
        )
    wanted = parameters(profile, nodes)
    if profile.cluster != "slurm":
        wanted = {"timeout_min": profile.timeout, "gpus_per_node": profile.gpus_per_node}
    try:
        # In Slurm the coordinator starts without submitit, which would load numpy for it (0.25 s).
        words = [sys.executable, "-u", "-m", slurm_job.__name__, str(run.path)]
        executor = submitit.AutoExecutor(
            folder / "%j", profile.cluster, slurm_python=shlex.join(words)
        )
        executor.update_parameters(name=run.name, **wanted)
        # The error has what sbatch prints when it refuses.
        os.environ[GIVEN] = SECRETS.given  # sbatch hands the environment on
        with redirect_stderr(io.StringIO()), executor.batch():
            handles = [executor.submit(slurm_job.JobTask(str(run.path), job)) for job in jobs]
    except submitit.core.utils.FailedJobError as error:
        said = _last_words(str(error))
        if _BUSY.search(said):
            raise DispatchError(f"Slurm does not answer, try again later: {said}") from error
        hint = NO_GRES if profile.gres and profile.gpus_per_node and _OF_NODES.search(said) else ""
        raise DispatchError(f"Slurm refuses the job: {said}{hint}") from error
    except OSError as error:
        raise DispatchError(
            f"cannot write {error.filename or folder}: {error.strerror}; choose a folder that "
            f"all nodes see with --job-dir"
        ) from error
    finally:
        os.environ.pop(GIVEN, None)
    for job, handle in zip(jobs, handles, strict=True):
        if profile.cluster == "debug":  # runs the job in this process, when its result is read
            handle.results()
        job.id = handle.job_id


def _last_words(text: str) -> str:
    said = [line.strip() for line in re.findall(r"error:(.*)", text)]
    useful = [line for line in said if not line.startswith("Batch job submission failed")]
    return "; ".join(dict.fromkeys(useful or said)) or text.strip()


def _check_jobs(run: RunDir, header: RunHeader, scheduler: Scheduler) -> None:
    """Raise RunDirError if jobs have not ended: even a waiting job will run its benchmarks."""
    ids = [job.id for job in header.jobs if not job.state]
    going: dict[str, str] = {}
    for _ in range(_COMPLETING):
        found = scheduler.statuses(ids)
        if found is None:
            raise DispatchError(
                f"Slurm does not say whether job {', '.join(ids)} of {run.path} has ended: "
                f"`squeue` fails here"
            )
        going = {job: status.word for job, status in found.items() if not status.has_ended}
        if not going or set(going.values()) != {"COMPLETING"}:
            break
        time.sleep(1.0)  # its benchmarks have ended, and it is about to
    if going:
        words = ", ".join(f"{job} is {word}" for job, word in going.items())
        raise RunDirError(
            f"{run.path} has not ended (job {words}): `milabench watch` follows it, "
            f"`milabench cancel` ends it"
        )
