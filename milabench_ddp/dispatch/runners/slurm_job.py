"""The jobs that submitit submits to Slurm: each runs a coordinator in its batch step.

    python -m milabench_ddp.dispatch.runners.slurm_job runs/x

The coordinator starts the agents as steps of its job (``srun --overlap``), of several nodes each,
and exchanges messages with them through srun's pipes. So Slurm starts, ends and accounts for them.
"""

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from math import isqrt
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from ...caller import restore_environment
from ...config.schema import Benchmark
from ...display.plain import PlainProgress
from ...errors import DispatchError
from ...events import Outcome, Verdict
from ...launch.stop_requests import StopRequests, stopped_by_signals
from ...progress import ProgressObserver
from ...results.lock import held, holder, host_of
from ...results.node_state import NodeStatus, begin_attempt
from ...results.read_state import read_benchmark, read_header
from ...results.run_dir import RunDir
from ...results.state import JobState, own_id
from ...shown_streams import shown_output
from .. import slurm_queue
from ..agent_main import AgentOptions
from ..coordinator import Coordinator
from ..gpu_preflight import check_gpus
from ..node_records import NodeRecords
from ..nodes import Nodes
from ..run_context import RunContext, end_unrun, read_plan
from ..schedulers import missing_of_job, most_nodes, own_job, restart
from ..slurm_nodes import keep_nodes
from ..this_host import own_node
from .agents import AgentCommand, agent_script, agents
from .attached import this_host

# Neither an agent that ends nor a node that is lost ends the step of the others.
_SRUN = ("srun", "--job-name=agents", "--overlap", "--ntasks-per-node=1", "--cpu-bind=none",
         "--mem=0", "--label", "--kill-on-bad-exit=0", "--wait=0", "--no-kill",
         "--export=ALL")  # fmt: skip
_STEP = 8  # nodes of a step: Slurm ends a whole step for a node that was started anew

# seconds for the lock of a coordinator whose node has died to be given back, as NFS does
_LEASE = 120.0
Host = TypeVar("Host")
_PATIENCE = 90  # seconds for the submitting command to note its id, and for NFS to show it
BEFORE_IT_BEGAN = Verdict(Outcome.NOT_BEGUN, "its job ended before it began: TIMEOUT")
ORPHAN = (
    "{0} does not know this job: the command that submitted it was killed. Nothing is run; "
    "`milabench run --resume {0}` submits another job"
)


class JobTask(Struct, frozen=True):
    """The coordinator of a job; without Slurm, submitit pickles it and runs it."""

    run: str
    job: JobState

    def __call__(self) -> str:
        """Run the job's benchmarks that have no final result; returns the outcome.

        A pre-empted job asks Slurm to start it again, and then goes on with the rest.
        """
        restore_environment()
        run, name = RunDir(Path(self.run)), self.job.name
        lock = run.job_lock(name)
        earlier = host_of(lock)  # it has not given the lock back
        with shown_output(), held(lock, _LEASE) as is_mine:
            if not is_mine:
                raise DispatchError(f"the job {name} has a coordinator already{holder(lock)}")
            plan = read_plan(run)
            benchmarks = missing_of_job(run, plan, self.job)
            if not benchmarks:
                return Outcome.OK  # a job that starts again may have nothing left to do
            if earlier and own_id():
                _note_lost(run, earlier)
            header = read_header(run)
            begin_attempt(run, {job.id for job in header.jobs} - {own_id()})
            with slurm_queue.ended_by_slurm():
                return self._run(RunContext(run, header, plan, benchmarks))

    def _run(self, context: RunContext) -> str:
        run, plan, benchmarks = context.run, context.plan, context.benchmarks
        with ExitStack() as stack:
            requests = stack.enter_context(closing(StopRequests()))
            stack.enter_context(stopped_by_signals(requests))
            # the warning of a time limit; submitit's handler would requeue the job
            signal.signal(signal.SIGUSR2, lambda *_: requests.stop())
            observer = PlainProgress(sys.stdout)
            with self._nodes(context, requests, observer) as nodes:
                coordinator = Coordinator(
                    run, plan, benchmarks, nodes, requests, observer,
                    why_stopped=slurm_queue.why_stopped,
                )  # fmt: skip
                outcome = coordinator.execute()
            # Here a signal ends nothing, and Slurm sends one to a job that it starts again.
            if coordinator.stopped_as == slurm_queue.PREEMPTED:
                restart(run)
            elif coordinator.stopped_as is not None:
                _end_waiting(run, benchmarks, coordinator.stopped_as)
        if coordinator.unwritten:  # only the job's own end and its log can still tell it
            raise DispatchError("; ".join(dict.fromkeys(coordinator.unwritten.values())))
        return outcome

    @contextmanager
    def _nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> Iterator[Nodes]:
        """The first nodes of this job: agents in its steps; without Slurm, this host."""
        plan = context.plan
        if own_id():
            profile = plan.runner
            assert profile is not None
            hosts = keep_nodes(most_nodes(context.benchmarks, plan.nodes) + plan.spare)

            def step(mine: Sequence[str], *, is_again: bool = False) -> AgentCommand:
                options = AgentOptions(
                    context.run.path, hosts.index(mine[0]), hosts=tuple(mine), is_again=is_again,
                    job=self.job.name,
                )  # fmt: skip
                script = agent_script(options, profile)
                count = len(mine)  # the job's own may be of an attempt on more nodes
                shell = (
                    *_SRUN, *profile.srun_options, f"--nodes={count}", f"--ntasks={count}",
                    f"--nodelist={','.join(mine)}", "bash", "-c",
                )  # fmt: skip
                return AgentCommand(shell, script, tuple(mine))

            commands: dict[str, AgentCommand] = {}
            for part in parts(hosts):
                commands |= dict.fromkeys(part, step(part))
            with agents(
                context, commands, requests, observer, lambda host: step([host], is_again=True)
            ) as nodes:
                yield nodes
        else:
            requests.verdict = slurm_queue.CANCELLED
            node, _ = own_node(plan)
            context.warnings = check_gpus(plan, plan.benchmarks, node, os.environ)
            with this_host(context, requests, observer) as nodes:
                yield nodes


def _note_lost(run: RunDir, host: str) -> None:
    """Record the node whose coordinator ended without a word: without power, or killed."""
    state = slurm_queue.why_dead(host)
    says = f", and {state}" if state else ""
    records = NodeRecords(run, [host], PlainProgress(sys.stdout))
    records.set(host, NodeStatus.LOST, f"had the coordinator, which ended without a word{says}")
    records.tell()


def parts(hosts: Sequence[Host]) -> list[Sequence[Host]]:
    """The hosts of each step: few steps, and few hosts that are lost together."""
    size = max(_STEP, isqrt(len(hosts)))
    return [hosts[first : first + size] for first in range(0, len(hosts), size)]


def _end_waiting(run: RunDir, benchmarks: Iterable[Benchmark], stopped: Verdict) -> None:
    verdict = BEFORE_IT_BEGAN if stopped == slurm_queue.LIMIT else stopped
    for benchmark in benchmarks:
        state = read_benchmark(run, benchmark.name)
        if state is None or not state.status.has_ended:
            end_unrun(run, benchmark.name, verdict)


def main(path: str) -> None:
    """Run the coordinator of the Slurm job that this process is in.

    Its record has the names of its benchmarks. The command that submits it writes the record.
    """
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # it may come while this waits
    run = RunDir(Path(path))
    for _ in range(_PATIENCE):
        if job := own_job(run):
            JobTask(path, job)()
            return
        time.sleep(1.0)
    print(ORPHAN.format(shlex.quote(path)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
