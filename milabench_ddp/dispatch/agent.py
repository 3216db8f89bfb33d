"""The agent of a node: runs the node's part of launches and writes the node's result files.

An agent that loses its coordinator ends its launch: no process stays on a node without supervision.
"""

import os
import queue
import threading
import time

from ..events import Clock, Outcome, Verdict
from ..launch.node_run import LaunchRunner
from ..launch.stop_requests import StopRequests
from .protocol import (
    FindPorts,
    Finish,
    Heartbeat,
    Hello,
    KeepEvidence,
    LaunchEnded,
    Ping,
    Pong,
    Signalled,
    StartLaunch,
    StopLaunch,
    Timeouts,
    ToAgent,
)
from .slurm_nodes import has_first_node
from .this_host import found_ports, kept_evidence, run_part
from .transport import Connection, heartbeats

CoordinatorConnection = Connection[ToAgent]


class CoordinatorLostError(Exception):
    """The coordinator is lost; the message says how the agent noticed."""

    def __init__(self, message: str, *, is_silent: bool) -> None:
        super().__init__(message)
        self.is_silent = is_silent  # its node may have lost power; if False, it has ended


class Agent:
    """Serves one coordinator: one thread reads its messages, and the main thread does the work.

    A third thread sends heartbeats, so that neither a slow disk nor a launch delays them.
    """

    def __init__(
        self,
        runner: LaunchRunner,
        connection: CoordinatorConnection,
        timeouts: Timeouts,
        clock: Clock,
        grace: float,  # seconds between SIGTERM and SIGKILL
    ) -> None:
        self._runner, self._connection, self._timeouts = runner, connection, timeouts
        self._clock, self._grace = clock, grace
        self._orders: queue.SimpleQueue[ToAgent | None] = queue.SimpleQueue()
        self._is_signalled = False  # by a signal that the coordinator has not been told of
        self._lock = threading.Lock()  # guards the next three
        self._requests: StopRequests | None = None  # of the launch that runs; to stop it
        self._launch = ""  # its id
        self._stopped: dict[str, Verdict] = {}  # launches that must not start, by id
        self._stops = 0  # how often this process was asked to stop by a signal
        self._heard = clock()
        self._is_silent = self._was_silent = False  # for too long, so that its launch was stopped
        self._lost: CoordinatorLostError | None = None
        self._lost_at = 0.0

    @property
    def is_abandoned(self) -> bool:
        is_lost = self._lost is not None and self._lost.is_silent
        return is_lost or (self._was_silent and not has_first_node())

    # Called by signal handlers, which must not wait for a lock: another thread sends the message.

    def interrupt(self, name: str) -> None:
        self._stops += 1
        self.note_signal()
        if self._requests is not None:
            self._requests.interrupt(name)
        else:
            self._orders.put(Finish())

    def note_signal(self) -> None:
        self._is_signalled = True

    # The main thread.

    def serve(self, hello: Hello) -> None:
        """Do what the coordinator asks, until it sends ``Finish``.

        Raises:
            CoordinatorLostError: the coordinator is lost.
        """
        self._connection.send(hello)
        threading.Thread(target=self._listen, daemon=True).start()
        with heartbeats(self._beat, self._timeouts.heartbeat):
            while (order := self._orders.get()) is not None:
                match order:
                    case Finish():
                        self._tell_signals()
                        return
                    case Ping(id):
                        self._connection.send(Pong(id, time.time()))
                    case FindPorts():
                        self._connection.send(found_ports(order))
                    case KeepEvidence(files):
                        self._connection.send(kept_evidence(self._runner, files))
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
            elif self._lost is not None:  # lost after it sent this order
                requests.stop(_without_coordinator(str(self._lost)))
        if self._stops:  # a stop came before ``_requests`` was set
            requests.stop()
        try:
            # the result files have its events
            state = run_part(self._runner, order.launch, requests, lambda _: None)
        finally:
            with self._lock:
                self._requests, self._launch = None, ""
            requests.close()
        self._tell_signals()  # before ``LaunchEnded``: the signals may be the reason
        self._connection.send(LaunchEnded(order.id, state))

    # The reading thread.

    def _listen(self) -> None:
        while (messages := self._connection.receive()) is not None:
            self._heard = self._clock()
            for message in messages:
                match message:
                    case Heartbeat():
                        pass
                    case StopLaunch(id, verdict, hard):  # at once: the orders wait for the launch
                        self._stop_launch(verdict, hard=hard, launch=id)
                    case _:
                        self._orders.put(message)
        self._lose("it closed the connection", is_silent=False)

    def _stop_launch(
        self, verdict: Verdict, *, hard: bool = False, launch: str | None = None
    ) -> None:
        """Stop the launch with this id, even before it starts; without an id, the current one."""
        with self._lock:
            if launch is not None and launch != self._launch:
                self._stopped[launch] = verdict
            elif self._requests is not None:
                for _ in range(1 + hard):
                    self._requests.stop(verdict)

    def _lose(self, message: str, *, is_silent: bool) -> None:
        if self._lost is None:
            self._lost_at = self._clock()
            self._lost = CoordinatorLostError(message, is_silent=is_silent)
            self._stop_launch(_without_coordinator(message))
            self._orders.put(None)

    # The thread of the heartbeats.

    def _beat(self) -> None:
        """Send a heartbeat, and check when the coordinator was last heard.

        If it is silent for too long, its launch is stopped; it may still come back. If the main
        thread hangs when the coordinator is lost, this process ends without it, and its keepers end
        the launch.
        """
        late = self._clock() - self._lost_at - self._grace - self._timeouts.report
        if self._lost is not None and late > 0:
            os._exit(1)
        self._tell_signals()
        self._connection.stream.send_now(Heartbeat())
        silence, limit = self._clock() - self._heard, self._timeouts.silence
        message = f"it sent no heartbeat for {limit:g} s"
        if silence <= limit:
            self._is_silent = False
        elif not self._is_silent:
            self._is_silent = self._was_silent = True
            self._stop_launch(_without_coordinator(message))
        elif silence > limit + self._timeouts.reconnect:
            self._lose(message, is_silent=True)

    def _tell_signals(self) -> None:
        if self._is_signalled:
            self._is_signalled = False
            self._connection.send(Signalled())


def _without_coordinator(message: str) -> Verdict:
    return Verdict(Outcome.LOST, f"its coordinator is gone: {message}")
