"""The process that leads the nodes of one job, on its first node.

    python -m milabench_ddp.dispatch.lead RUN JOB --host HOST

It ends with 0 where every point has a result, 1 where one did not end ok, and with 75 where the job
was pre-empted and what is left should be done when it starts again.
"""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from ..errors import MilabenchError
from ..events import Outcome
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..results.planfile import read_plan
from ..results.points import is_final, read_point
from ..results.run_dir import RunDir
from . import jobs, scheduler
from .address import announce
from .leader import Leader
from .onlooker import PlainOnlooker
from .patience import Patience

AGAIN = 75  # EX_TEMPFAIL of sysexits.h


def main(argv: list[str] | None = None) -> int:
    """Lead what is missing of a job's points."""
    parser = argparse.ArgumentParser(prog="milabench_ddp.dispatch.lead", description=__doc__)
    parser.add_argument("run", type=Path, help="the run folder, which all nodes see")
    parser.add_argument("job", help="which of its jobs")
    parser.add_argument("--host", required=True, help="where the other nodes reach this one")
    options = parser.parse_args(argv)
    try:
        return _lead(RunDir(options.run), options.job, options.host)
    except MilabenchError as error:
        print(f"the leader: {error}", file=sys.stderr, flush=True)
        return 2


def _lead(rundir: RunDir, name: str, host: str) -> int:
    plan, job = read_plan(rundir.plan_json), jobs.read(rundir.path, name)
    points = [
        benchmark
        for benchmark in plan.benchmarks
        if benchmark.name in job.points and not is_final(read_point(rundir.path / benchmark.name))
    ]
    inbox = StopRequests()
    server, token = announce(jobs.address_file(rundir.path, name), host)

    def warned(_number: int, _frame: FrameType | None) -> None:
        inbox.stop()

    with stopped_by_signals(inbox), server:
        signal.signal(signal.SIGUSR2, warned)  # what Slurm sends before a limit, or pre-emption
        leader = Leader(
            rundir,
            plan,
            points,
            job.nodes,
            inbox,
            PlainOnlooker(sys.stdout),
            token,
            Patience(),
            scheduler.why_stopped,
        )
        leader.listen(server)
        outcome = leader.run()
    if leader.has_lost_nodes and (own := scheduler.own_id()):
        scheduler.cancel([own])  # srun would wait for them until the time limit
    if leader.stopped_as == scheduler.PREEMPTED:
        return AGAIN
    return {Outcome.OK: 0, Outcome.CANCELLED: 130}.get(outcome, 1)


if __name__ == "__main__":
    sys.exit(main())
