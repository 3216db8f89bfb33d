"""The process of an agent: prepares its node, and then serves the coordinator that started it.

    python -m milabench_ddp.dispatch.agent_main '{"run": "runs/x", "rank": 0, "address": "node1"}'

Its coordinator is at the other end of standard input and output.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..caller import restore_environment
from ..codec import decode
from ..config.audited import audited_in
from ..errors import DispatchError, MilabenchError
from ..interrupts import EndedBySignal, raise_at_signals
from ..launch.stop_requests import stopped_by_signals
from ..machine.preflight import node_facts
from ..machine.provenance import collect, meta
from ..results.lock import held, holder, kill_holder
from ..results.run_dir import RunDir
from ..shown_streams import shown_output
from ..streams import prepare_streams
from . import shared_folder
from .agent import Agent, CoordinatorConnection, CoordinatorLostError
from .agent_plants import plant
from .gpu_preflight import check_gpus
from .protocol import AwakeClock, Heartbeat, Hello, Problem, Timeouts, ToAgent
from .run_context import read_plan
from .schedulers import start_again
from .this_host import address_of, launch_runner, own_node
from .transport import Connection, Stream, heartbeats

# They tell a program the name and the rank of its node.
NODE, NODE_RANK = "MILABENCH_NODE", "MILABENCH_NODE_RANK"


class AgentOptions(Struct, frozen=True):
    """The options of an agent, which its command line has as JSON."""

    run: Path  # the run folder, which all nodes see
    rank: int  # of this node
    address: str = "127.0.0.1"  # where the other nodes reach it
    name: str | None = None  # of this node; None: the name of its host
    parts: int = 0  # how many nodes share this host; 0: it is one node
    hosts: tuple[str, ...] = ()  # of a job step of Slurm, by task; ``rank`` is that of the first
    is_again: bool = False  # an earlier agent of the same coordinator may be there still
    job: str = ""  # the name of its Slurm job, which starts again if the coordinator is lost
    timeouts: Timeouts = Timeouts()


def main(words: str) -> int:
    """Run an agent until its coordinator sends ``Finish``.

    Args:
        words: ``AgentOptions`` as JSON.

    Returns:
        the exit status: 0; 1 if the coordinator is lost; 2 if the agent cannot serve.
    """
    prepare_streams()
    restore_environment()
    options = decode(words, AgentOptions)
    task = None
    if options.hosts:
        task = options.hosts.index(os.environ["SLURMD_NODENAME"])
        options = replace(options, rank=options.rank + task, address=options.hosts[task])
    connection: CoordinatorConnection = Connection(Stream(os.dup(0), os.dup(1), own=task), ToAgent)
    os.dup2(2, 1)  # what is printed must not be taken for a message
    with shown_output():
        try:
            _serve(options, connection)
        except (MilabenchError, CoordinatorLostError) as error:
            print(f"node {options.rank}: {error}", file=sys.stderr, flush=True)
            if isinstance(error, CoordinatorLostError):
                return 1
            connection.send(Problem(str(error)))
            return 2
    return 0


def _serve(options: AgentOptions, connection: CoordinatorConnection) -> None:
    run = RunDir(options.run)
    witness = shared_folder.leave_witness(run)
    plan = read_plan(run)
    plant(plan.benchmarks, (str(options.rank), options.name or options.address), os.environ)
    node, visible = own_node(plan, options.rank, options.parts, options.name)
    interface = plan.runner.network_interface if plan.runner else None
    address = address_of(interface) if interface else options.address
    machine = collect(plan.arch, node, sys.argv, os.environ, audited_in(plan.benchmarks))
    environ = {**os.environ, NODE: node.name, NODE_RANK: str(options.rank)}
    with ExitStack() as stack:
        with heartbeats(
            lambda: connection.stream.send_now(Heartbeat()), options.timeouts.heartbeat
        ):
            stack.enter_context(_alone(run, node.name, options, plan.grace))
            warnings = check_gpus(plan, plan.benchmarks, node, environ)
        compared = node_facts(machine, visible)
        settings = machine["settings"]
        hello = Hello(options.rank, node, address, compared, witness, warnings, settings)
        facts, clock = {**meta(machine), "node": node.name}, AwakeClock()
        runner = stack.enter_context(launch_runner(run, plan, node, facts, environ, clock))
        agent = Agent(runner, connection, options.timeouts, clock, plan.grace)
        # Slurm's warning; the coordinator acts on it
        signal.signal(signal.SIGUSR2, lambda *_: agent.note_signal())
        try:
            with stopped_by_signals(agent):
                agent.serve(hello)
        finally:
            if options.job and agent.is_abandoned:
                start_again(run)  # the coordinator may not be there to ask


@contextmanager
def _alone(run: RunDir, node: str, options: AgentOptions, grace: float) -> Iterator[None]:
    """Wait until the agent of an earlier coordinator has ended: it may still use the devices."""
    lock = run.node_lock(node, options.job)
    timeouts = options.timeouts
    if options.is_again:  # it is taken for lost, and may be stopped
        kill_holder(lock)
    with held(lock, timeouts.silence + timeouts.reconnect + grace + timeouts.report) as is_mine:
        if not is_mine:
            raise DispatchError(f"another agent of this run has not ended{holder(lock)}")
        yield


if __name__ == "__main__":
    raise_at_signals()  # so that a check of the GPUs is ended, too
    try:
        sys.exit(main(sys.argv[1]))
    except EndedBySignal as ended:
        sys.exit(ended.exit_code)
