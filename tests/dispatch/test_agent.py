"""An agent in a thread, whose launches and clock the test controls."""

import select
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import cast

import pytest

from milabench_ddp.dispatch import agent as agent_module
from milabench_ddp.dispatch.agent import Agent, CoordinatorLostError
from milabench_ddp.dispatch.protocol import (
    AwakeClock,
    Finish,
    FromAgent,
    Heartbeat,
    Hello,
    LaunchEnded,
    Ping,
    Pong,
    Signalled,
    StopLaunch,
)
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.launch.node_run import LaunchRunner
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.plan.launch import Launch
from milabench_ddp.results.state import LaunchState
from tests.support.dispatch import QUICK, Clock, connections, node
from tests.support.started_agent import start_launch
from tests.support.wait import wait_for

HELLO = Hello(0, node(0), "10.0.0.1")
GRACE = 5.0
SILENT = "it sent no heartbeat for 10 s"


class RunsUntilStopped:
    """Stands in for a ``LaunchRunner``: a launch ends when it is asked to stop."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.goes_on = threading.Event()  # if it is cleared, a launch hangs
        self.goes_on.set()

    def run(self, launch: Launch, requests: StopRequests, _emit: object) -> LaunchState:
        self.started.release()
        self.goes_on.wait()
        while not requests.stops:
            select.select([requests.fd], [], [])
        verdict = requests.verdict
        return LaunchState(launch.repeat, verdict.outcome, verdict.reason)


class Served:
    """An agent that serves in a thread, and the coordinator's end of its connection."""

    def __init__(self, *, suspends: bool = False) -> None:
        self.clock, self.runner = Clock(), RunsUntilStopped()
        self.connection, self._theirs = connections()
        runner = cast(LaunchRunner, self.runner)
        clock = AwakeClock(self.clock) if suspends else self.clock
        self.agent = Agent(runner, self._theirs, QUICK, clock, GRACE)
        self.lost: CoordinatorLostError | None = None
        self._heard: list[FromAgent] = []
        self._before = set(threading.enumerate())
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        try:
            self.agent.serve(HELLO)
        except CoordinatorLostError as error:
            self.lost = error

    def serve(self) -> None:
        self._thread.start()
        assert self.next() == HELLO

    def next(self) -> FromAgent:
        """The next message that is not a heartbeat."""
        while True:
            while self._heard:
                message = self._heard.pop(0)
                if message != Heartbeat():
                    return message
            self.read()

    def read(self) -> None:
        messages = self.connection.receive()
        assert messages is not None
        self._heard += messages

    def ends(self) -> LaunchEnded:
        message = self.next()
        assert isinstance(message, LaunchEnded), message
        return message

    def waits_for_heartbeats(self, count: int) -> None:
        """Wait for this many heartbeats, and for no other message."""
        while select.select([self.connection.stream.fd], [], [], 0)[0]:
            self.read()
        assert set(self._heard) <= {Heartbeat()}
        self._heard.clear()
        while len(self._heard) < count:
            self.read()
            assert set(self._heard) == {Heartbeat()}

    def start(self, launch: str) -> None:
        self.connection.send(start_launch("", launch))
        self.runner.started.acquire()

    def join(self) -> None:
        self._thread.join()

    def close(self) -> None:
        self.connection.close()
        for thread in set(threading.enumerate()) - self._before:
            thread.join()  # one still reads, as long as there is something to read
        self._theirs.close()


@pytest.fixture
def served() -> Iterator[Served]:
    it = Served()
    yield it
    it.close()


def test_a_disk_that_hangs_is_not_a_death(served: Served) -> None:
    """Heartbeats are sent while a launch holds up the main thread."""
    served.serve()
    served.start("1")
    served.waits_for_heartbeats(20)
    served.connection.send(StopLaunch("1", Verdict(Outcome.LOST, "enough"), hard=False))
    assert served.ends().state.reason == "enough"
    served.connection.send(Finish())
    served.join()
    assert served.lost is None


def test_a_silent_coordinator_that_is_back_is_served_again(served: Served) -> None:
    """Its launch was stopped; the agent gives up only if the silence goes on."""
    served.serve()
    for launch in ("1", "2"):
        served.start(launch)
        served.clock.sleep(QUICK.silence - 0.1)
        served.waits_for_heartbeats(3)  # not yet
        served.clock.sleep(0.2)
        ended = served.ends()
        assert (ended.id, ended.state.reason) == (launch, f"its coordinator is gone: {SILENT}")
        served.clock.sleep(QUICK.reconnect - 1.0)
        served.waits_for_heartbeats(3)
        served.connection.send(Ping(launch))
        pong = served.next()
        assert isinstance(pong, Pong)
        assert pong.id == launch
        served.waits_for_heartbeats(3)
    served.clock.sleep(QUICK.silence + QUICK.reconnect - 0.1)
    served.waits_for_heartbeats(3)
    served.clock.sleep(0.2)
    served.join()
    assert served.lost is not None
    assert (str(served.lost), served.lost.is_silent) == (SILENT, True)


def test_a_job_that_was_suspended_has_a_coordinator_still() -> None:
    served = Served(suspends=True)
    try:
        served.serve()
        served.start("1")
        served.clock.sleep(3600)
        served.waits_for_heartbeats(3)
        served.connection.send(StopLaunch("1", Verdict(Outcome.CANCELLED, "enough"), hard=False))
        assert served.ends().state.reason == "enough"
        served.connection.send(Finish())
        served.join()
    finally:
        served.close()


def test_its_heartbeats_are_enough(served: Served) -> None:
    served.serve()
    served.start("1")
    for _ in range(3):
        served.clock.sleep(QUICK.silence - 0.1)
        served.connection.send(Heartbeat())
        served.connection.send(Ping("x"))
        served.waits_for_heartbeats(3)  # it waits for the launch, as it should
    served.connection.send(StopLaunch("1", Verdict(Outcome.LOST, "enough"), hard=False))
    assert served.ends().state.reason == "enough"


def test_what_was_asked_just_before_the_end_of_the_connection_is_stopped(served: Served) -> None:
    """No coordinator is left to receive its result or to stop it."""
    served.serve()
    served.start("1")
    served.connection.send(start_launch("", "2"))
    served.connection.close()
    served.join()
    assert served.lost is not None
    assert (str(served.lost), served.lost.is_silent) == ("it closed the connection", False)


def test_all_that_it_was_asked_is_done_before_it_ends(served: Served) -> None:
    """If the connection ends after a ``Finish``, the coordinator is not lost."""
    served.serve()
    served.connection.send(Finish())
    served.connection.close()
    served.join()
    assert served.lost is None


def test_asked_to_stop_before_it_serves(served: Served) -> None:
    served.agent.interrupt("SIGTERM")
    served.serve()
    assert served.next() == Signalled()
    served.join()
    assert served.lost is None


def test_asked_to_stop_while_it_runs(served: Served) -> None:
    served.serve()
    served.start("1")
    served.agent.interrupt("SIGTERM")
    assert served.next() == Signalled()  # before the end that it causes
    assert served.ends().state.reason == "stopped on request"
    served.join()
    assert served.lost is None


def test_without_a_coordinator_a_main_thread_that_hangs_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: SimpleQueue[int] = SimpleQueue()
    monkeypatch.setattr(agent_module.os, "_exit", ended.put)
    served.runner.goes_on.clear()
    served.serve()
    served.start("1")
    served.connection.close()
    wait_for(lambda: served.agent._lost is not None)
    served.clock.sleep(GRACE + QUICK.report)
    with pytest.raises(Empty):
        ended.get(timeout=5 * QUICK.heartbeat)
    served.clock.sleep(1.0)
    assert ended.get() == 1
    served.runner.goes_on.set()
    served.join()
