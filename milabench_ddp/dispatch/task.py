"""What submitit runs on each node of a job: the node's agent, and on the first node the leader."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from . import jobs, scheduler
from .lead import AGAIN

RESTARTS = 3  # of one job, after which something is wrong with it and not with its nodes


@dataclass(frozen=True)
class NodeTask:
    """A callable that travels to the nodes by pickle."""

    run: str
    job: str

    def __call__(self) -> int:
        """Serve until all is done; what is left after pre-emption runs when the job starts anew."""
        import submitit

        for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGCONT):
            signal.signal(number, _bypass)  # submitit's own would requeue; ours are the children's
        where = submitit.JobEnvironment()
        host = os.environ.get("SLURMD_NODENAME") or where.hostname
        leader = self._leader(host) if where.global_rank == 0 else None
        agent = self._agent(where.global_rank, host)
        if leader is not None:
            if where.cluster != "slurm":  # which signals all processes of a step itself
                _pass_on(leader)
            code = leader.wait()
            agent.wait()
            if code == AGAIN:
                scheduler.requeue(scheduler.own_id())
            return code
        code = agent.wait()
        if code == 1:
            _start_again()  # its leader is gone for good, and nobody else may be left to say so
        return code

    def _leader(self, host: str) -> "subprocess.Popen[bytes]":
        words = ["milabench_ddp.dispatch.lead", self.run, self.job, "--host", host]
        return subprocess.Popen([sys.executable, "-u", "-m", *words])

    def _agent(self, rank: int, host: str) -> "subprocess.Popen[bytes]":
        leader = jobs.address_file(Path(self.run), self.job)
        words = ["milabench_ddp.dispatch", self.run, "--rank", str(rank)]
        words += ["--leader", str(leader), "--address", host]
        return subprocess.Popen([sys.executable, "-m", *words], stdin=subprocess.DEVNULL)


def _bypass(_number: int, _frame: FrameType | None) -> None:
    """Nothing: the leader and the agent have the same signal."""


def _pass_on(leader: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGUSR2, signal.SIGTERM):
        signal.signal(number, lambda received, _: leader.send_signal(received))


def _start_again() -> None:
    job = scheduler.own_id()
    if not job:
        return
    if int(os.environ.get("SLURM_RESTART_COUNT", "0")) < RESTARTS:
        scheduler.requeue(job)
    else:
        scheduler.cancel([job])
