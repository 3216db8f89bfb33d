"""The jobs that submitit submits to Slurm: each runs a coordinator in its batch step.

The coordinator starts the agents as steps of its job (``srun --overlap``), one on each node, and
exchanges messages with them through srun's pipes. So Slurm starts, ends and accounts for them.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ...codec import read_record
from ...display.run_progress import PlainProgress
from ...events import Outcome
from ...launch.stop_requests import StopRequests, stopped_by_signals
from ...progress import ProgressObserver
from ...results.read_state import read_benchmark, require_state
from ...results.run_dir import RunDir
from ...results.state import JobState
from .. import slurm_jobs
from ..agent import AgentOptions
from ..coordinator import Coordinator
from ..nodes import Nodes
from ..run_context import RunPlan
from ..schedulers import most_nodes
from .attached import agent_script, agents, this_host

_SRUN = ("srun", "--job-name=agent", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none",
         "--mem=0", "--kill-on-bad-exit=0", "--no-kill", "--export=ALL")  # fmt: skip


@dataclass(frozen=True)
class JobTask:
    """The task that submitit runs in a job, as a pickled object: the job's coordinator."""

    run: str
    job: str

    def __call__(self) -> str:
        """Run the job's benchmarks that have no final result; returns the outcome.

        A pre-empted job asks Slurm to start it again, and then goes on with the rest.
        """
        run = RunDir(Path(self.run))
        plan = read_record(run.plan_json, RunPlan)
        mine = read_record(run.job_json(self.job), JobState).benchmarks
        benchmarks = []
        for benchmark in plan.benchmarks:
            state = read_benchmark(run, benchmark.name)
            if benchmark.name in mine and not (state and state.is_final):
                benchmarks.append(benchmark)
        if not benchmarks:
            return Outcome.OK  # a job that starts again may have nothing left to do
        with ExitStack() as stack:
            requests = stack.enter_context(closing(StopRequests()))
            stack.enter_context(stopped_by_signals(requests))
            _stop_on_warning(requests)
            observer = PlainProgress(sys.stdout)
            count = most_nodes(benchmarks, plan.nodes)
            nodes = stack.enter_context(_nodes(run, plan, count, requests, observer))
            coordinator = Coordinator(
                run, plan, benchmarks, nodes, requests, observer,
                why_stopped=slurm_jobs.why_stopped,
            )  # fmt: skip
            outcome = coordinator.execute()
        if coordinator.stopped_as == slurm_jobs.PREEMPTED:
            slurm_jobs.requeue(slurm_jobs.own_id())
        return outcome


def _stop_on_warning(requests: StopRequests) -> None:
    """Stop on SIGUSR2, the warning of a time limit; submitit's handler would requeue the job."""

    def warned(_number: int, _frame: FrameType | None) -> None:
        requests.stop()

    signal.signal(signal.SIGUSR2, warned)


@contextmanager
def _nodes(
    run: RunDir, plan: RunPlan, count: int, requests: StopRequests, observer: ProgressObserver
) -> Iterator[Nodes]:
    """The first ``count`` nodes of this job: agents in steps of Slurm, or this host without it."""
    if slurm_jobs.own_id():
        profile = plan.runner
        assert profile is not None
        commands = {}
        for rank, host in enumerate(slurm_jobs.keep_nodes(count)):
            options = AgentOptions(run.path, rank, host, is_in_job=True)
            script = agent_script(options, profile.setup, profile.environment)
            commands[host] = [*_SRUN, f"--nodelist={host}", "bash", "-c", script]
        with agents(run, plan, commands, requests, observer) as nodes:
            yield nodes
    else:
        machine = require_state(run).header.machine
        requests.verdict = slurm_jobs.CANCELLED
        with this_host(run, plan, machine, requests, observer) as nodes:
            yield nodes
