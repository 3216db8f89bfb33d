"""The process of a node: does what its coordinator asks, and writes this node's result files.

    python -m milabench_ddp.dispatch.agent '{"run": "runs/x", "rank": 0, "address": "node1"}'

Its coordinator is at the other end of standard input and output. When it loses its coordinator it
ends what it runs: nothing is left behind on a node that nobody watches.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from ..codec import decode, read_record
from ..errors import MilabenchError
from ..events import Event
from ..launch.node_run import LaunchRunner
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..machine.detect import detect, partition
from ..machine.devices import Node
from ..machine.provenance import collect, meta
from ..results.run_dir import RunDir
from ..results.run_plan import RunPlan
from . import slurm_jobs
from .nodes import free_ports, launch_runner, run_part
from .protocol import (
    FindPorts,
    Finish,
    Heartbeat,
    Hello,
    LaunchEnded,
    Ping,
    Pong,
    Ports,
    Problem,
    Signalled,
    StartLaunch,
    StopLaunch,
    Timeouts,
    ToAgent,
)
from .transport import Connection, heartbeats

NODE = "MILABENCH_NODE"  # tells a program the name of its node
CoordinatorConnection = Connection[ToAgent]


class CoordinatorLostError(Exception):
    """The coordinator is gone; the message says how that was noticed."""

    def __init__(self, message: str, *, is_silent: bool) -> None:
        super().__init__(message)
        self.is_silent = is_silent  # its node may have no power; else it has ended


class Agent:
    """Serves one coordinator: a thread reads what it asks, the main thread does it.

    Heartbeats come from a third thread, which no disk and no launch holds up.

    Args:
        runner: runs the launches.
        connection: to the coordinator.
        timeouts: how long it is waited for.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        runner: LaunchRunner,
        connection: CoordinatorConnection,
        timeouts: Timeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner, self._connection, self._timeouts = runner, connection, timeouts
        self._clock = clock
        self._orders: queue.SimpleQueue[ToAgent | None] = queue.SimpleQueue()
        self._signals: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()  # of the three that follow
        self._requests: StopRequests | None = None  # to stop the launch that runs
        self._launch = ""  # its id
        self._stopped: dict[str, str] = {}  # launches to stop that have not started, and why
        self._stops = 0  # how often this process itself was asked to stop
        self._heard = clock()
        self._is_silent = False  # the coordinator: what it had started here was stopped
        self._lost: CoordinatorLostError | None = None

    # Called by signal handlers: they must not wait for a lock, so another thread tells it.

    def stop(self) -> None:
        """Ask it to end."""
        self._stops += 1
        self.note_signal("SIGTERM")
        if self._requests is not None:
            self._requests.stop()
        else:
            self._orders.put(Finish())

    def note_signal(self, name: str) -> None:
        """The coordinator shall know of a signal."""
        self._signals.put(name)

    # The main thread.

    def serve(self, hello: Hello) -> None:
        """Do what the coordinator asks, until nothing more will be asked.

        Raises:
            CoordinatorLostError: it broke off.
        """
        self._connection.send(hello)
        threading.Thread(target=self._listen, daemon=True).start()
        with heartbeats(self._beat, self._timeouts.heartbeat):
            self._obey()

    def _obey(self) -> None:
        while (order := self._orders.get()) is not None:
            match order:
                case Finish():
                    self._tell_signals()
                    return
                case Ping(id):
                    self._connection.send(Pong(id))
                case FindPorts(launch, count):
                    self._connection.send(Ports(launch, free_ports(count)))
                case StartLaunch():
                    self._run(order)
                    if self._stops:
                        return
        if self._lost is not None:
            raise self._lost

    def _run(self, order: StartLaunch) -> None:
        requests = StopRequests()
        with self._lock:
            self._requests, self._launch = requests, order.id
            if order.id in self._stopped:
                requests.stop(self._stopped[order.id])
            elif self._lost is not None:  # after it asked for this
                requests.stop(f"its coordinator is gone: {self._lost}")
        if self._stops:  # just before there was anything to tell it to
            requests.stop()
        try:
            state = run_part(self._runner, order.launch, requests, _ignore)
        finally:
            with self._lock:
                self._requests, self._launch = None, ""
            requests.close()
        self._tell_signals()  # before the end that they are the reason of
        self._connection.send(LaunchEnded(order.id, state))

    # The reading thread.

    def _listen(self) -> None:
        while (messages := self._connection.receive()) is not None:
            self._heard = self._clock()
            for message in messages:
                match message:
                    case Heartbeat():
                        pass
                    case StopLaunch(id, reason, hard):  # it must not wait for the launch
                        self._stop_launch(reason, hard=hard, launch=id)
                    case _:
                        self._orders.put(message)
        self._lose("it closed the connection", is_silent=False)

    def _stop_launch(self, reason: str, *, hard: bool = False, launch: str | None = None) -> None:
        """Stop the launch of this id, also one that has not started; without an id, any."""
        with self._lock:
            if launch is not None and launch != self._launch:
                self._stopped[launch] = reason
            elif self._requests is not None:
                for _ in range(1 + hard):
                    self._requests.stop(reason)

    def _lose(self, message: str, *, is_silent: bool) -> None:
        if self._lost is None:
            self._lost = CoordinatorLostError(message, is_silent=is_silent)
            self._stop_launch(f"its coordinator is gone: {message}")
            self._orders.put(None)

    # The thread of the heartbeats.

    def _beat(self) -> None:
        """Send one, and miss those of the coordinator.

        When it falls silent, what it had started is stopped; it may still be back.
        """
        self._tell_signals()
        self._connection.send_now(Heartbeat())
        silence, limit = self._clock() - self._heard, self._timeouts.silence
        message = f"it sent no heartbeat for {limit:g} s"
        if silence <= limit:
            self._is_silent = False
        elif not self._is_silent:
            self._is_silent = True
            self._stop_launch(f"its coordinator is gone: {message}")
        elif silence > limit + self._timeouts.reconnect:
            self._lose(message, is_silent=True)

    def _tell_signals(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._connection.send(Signalled(self._signals.get_nowait()))


def _ignore(_event: Event) -> None:
    """The result files have all."""


@dataclass(frozen=True)
class AgentOptions:
    """What an agent is told on its command line, as JSON."""

    run: Path  # the folder of the run, which all nodes see
    rank: int  # of this node
    address: str = "127.0.0.1"  # where the other nodes reach it
    name: str | None = None  # of this node; None for that of its host
    parts: int = 0  # the nodes that share this host; 0: it is one node
    is_in_job: bool = False  # whether to ask Slurm to start the job again after a loss
    timeouts: Timeouts = field(default_factory=Timeouts)


def main(words: str) -> int:
    """Serve until nothing more is asked; 1 where the coordinator is lost, 2 where it cannot."""
    options = decode(words, AgentOptions)
    connection = _stdio()
    try:
        _serve(options, connection)
    except MilabenchError as error:
        _complain(options.rank, error)
        connection.send(Problem(str(error)))
        return 2
    except CoordinatorLostError as error:
        _complain(options.rank, error)
        if options.is_in_job and error.is_silent:
            slurm_jobs.start_again()  # no one else may be left to ask for it
        return 1
    return 0


def _complain(rank: int, error: Exception) -> None:
    print(f"node {rank}: {error}", file=sys.stderr, flush=True)


def _stdio() -> CoordinatorConnection:
    """The connection on standard input and output; prints go to standard error."""
    read, write = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    return Connection(read, write, ToAgent)


def _serve(options: AgentOptions, connection: CoordinatorConnection) -> None:
    run = RunDir(options.run)
    plan = read_record(run.plan_json, RunPlan)
    node = _node(options, plan)
    machine = collect(plan.arch, node, sys.argv, os.environ)
    facts = {**meta(machine), "node": node.name}
    with launch_runner(run, plan, node, facts, {**os.environ, NODE: node.name}) as runner:
        agent = Agent(runner, connection, options.timeouts)

        def warned(_number: int, _frame: FrameType | None) -> None:
            agent.note_signal("SIGUSR2")  # Slurm's warning; the coordinator heeds it

        signal.signal(signal.SIGUSR2, warned)
        with stopped_by_signals(agent):
            agent.serve(Hello(options.rank, node, options.address))


def _node(options: AgentOptions, plan: RunPlan) -> Node:
    if options.parts:
        return partition(plan.arch, plan.gpus or 1, options.rank, options.parts, os.environ)
    node = detect(plan.arch, plan.gpus, os.environ).cluster.nodes[0]
    return replace(node, name=options.name or node.name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
