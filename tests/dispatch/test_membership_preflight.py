"""What nodes tell when they join: differences, clocks, folders; and those that never answer."""

from collections.abc import Callable

import pytest

from milabench_ddp.dispatch.agent_process import AgentLog, AgentProcess
from milabench_ddp.dispatch.protocol import Finish
from milabench_ddp.results.node_state import NodeStatus, read_nodes
from milabench_ddp.results.read_state import refuse
from tests.support.dispatch import QUICK
from tests.support.membership_room import Room

SAME = {"the_driver": "580.95", "python": "3.12"}


@pytest.mark.parametrize("odd", [0, 2])
def test_differences_are_told_before_anything_can_begin(
    room: Callable[..., Room], odd: int
) -> None:
    it = room(3, missing=3)
    for agent in it.agents:
        agent.hello(**{**SAME, "the_driver": "570.1"} if agent.rank == odd else SAME)
        assert (it.told.messages, it.nodes.is_gathering) == ([], True)
        it.hears()
    said = f"nodes differ: the_driver is 570.1 on n{odd}, and 580.95 on the other 2 nodes"
    assert (it.told.messages, it.nodes.is_gathering) == ([said], False)
    assert read_nodes(it.dir, refuse)[f"n{odd}"].facts["the_driver"] == "570.1"
    it.hears()
    assert it.told.messages == [said]  # once


@pytest.mark.parametrize("odd", [0, 1])
def test_a_clock_that_is_off_is_told(room: Callable[..., Room], odd: int) -> None:
    it = room(2, missing=2)
    it.agents[odd].clock_offset = 3600.0
    for agent in it.agents:
        agent.hello(**SAME)
    it.hears()
    (said,) = it.told.messages
    assert said == f"nodes differ: the clock of n{odd} is 3600.0 s ahead of the coordinator's"
    assert it.nodes[odd].ahead == pytest.approx(3600.0, abs=60.0)
    assert it.nodes[1 - odd].ahead == pytest.approx(0.0, abs=60.0)


def test_a_node_that_does_not_tell_its_clock_delays_nothing_for_long(
    room: Callable[..., Room],
) -> None:
    it = room(1, missing=1)
    it.agents[0].hello(**SAME)
    list(it.nodes.receive(0))
    assert it.nodes.is_gathering
    it.clock.sleep(QUICK.clock + 0.1)
    assert not it.nodes.is_gathering


@pytest.mark.parametrize("odd", [0, 1])
def test_a_node_with_another_folder_is_refused(room: Callable[..., Room], odd: int) -> None:
    it = room(2, missing=2)
    for agent in it.agents:
        witness = f".seen-{agent.rank}"
        if agent.rank != odd:
            (it.dir.nodes / witness).touch()
        agent.hello(witness, **SAME)
    it.hears()
    assert it.nodes.alive == [1 - odd]
    assert not it.nodes.is_gathering
    (said,) = it.told.messages
    assert said.startswith(f"n{odd} did not start: {it.dir.path} is another folder there")
    assert it.agents[odd].hears() == [Finish()]
    it.agents[odd].close()
    it.hears()
    assert it.told.messages == [said]


LINES = ("no module named torch", "srun: error: n1: task 0: Exited with exit code 3")


class Ended(AgentProcess):
    """A process that has ended, while another one holds its pipes."""

    def exit_status(self, _patience: float) -> int | None:
        return 3

    def last_lines(self) -> tuple[str, ...]:
        return LINES


@pytest.mark.parametrize("odd", [0, 1])
def test_an_agent_that_has_ended_is_named_at_once(room: Callable[..., Room], odd: int) -> None:
    it = room(2, missing=2)
    it.agents[1 - odd].hello()
    it.agents[odd].coordinator_end.process = Ended(None, AgentLog(it.dir.node_log(f"n{odd}")))
    it.hears()
    said = (
        f"n{odd} did not start: its agent ended with exit status 3: no module named torch "
        f"(see {it.dir.node_log(f'n{odd}')})"
    )
    assert it.nodes.problems == [said]
    assert it.told.messages == ["\n    ".join([said, *LINES[1:]])]
    assert not it.nodes.is_gathering
    state = read_nodes(it.dir, refuse)[f"n{odd}"]
    assert (state.status, state.log) == (NodeStatus.FAILED, LINES)


def test_one_that_does_not_answer_is_named_then_left_out(room: Callable[..., Room]) -> None:
    it = room(2, missing=1)
    it.nodes._timeouts = type(QUICK)(join=120.0, gather=30.0, notice=10.0, silence=600.0)
    it.nodes._until = it.clock() + 120.0
    it.dir.node_log("n1").write_text("srun: job 7 step creation temporarily disabled, retrying\n")
    see = f"(see {it.dir.node_log('n1')})"
    it.clock.sleep(10.0)
    it.hears()
    (first,) = it.told.messages
    assert first.splitlines()[0] == f"n1 has not answered for 10 s {see}"
    assert "step creation temporarily disabled" in first
    assert it.nodes.is_gathering
    it.clock.sleep(20.0)
    assert (it.nodes.is_gathering, it.nodes.may_grow) == (False, True)  # the others begin
    it.clock.sleep(90.0)
    it.hears()
    assert it.told.messages[1].splitlines()[0] == (
        f"n1 did not start: it has not answered for 120 s {see}"
    )
    assert len(it.told.messages) == 2
    it.agents[1].hello()
    it.hears()
    assert it.told.messages[2:] == ["n1 has joined"]
    assert it.nodes.alive == [0, 1]


@pytest.mark.parametrize("late", [0, 1])
def test_one_that_checks_its_gpus_is_waited_for(room: Callable[..., Room], late: int) -> None:
    it = room(2, missing=2)
    it.nodes._timeouts = type(QUICK)(join=120.0, gather=30.0, notice=10.0, silence=20.0)
    it.nodes._until = it.clock() + 120.0
    it.agents[1 - late].hello()
    for _ in range(40):
        it.clock.sleep(5.0)
        for agent in it.agents:
            agent.heartbeat()
        it.hears()
        assert it.nodes.is_gathering
    assert it.told.messages == []
    it.clock.sleep(11.0)  # and then it is silent
    it.agents[1 - late].heartbeat()
    it.hears()
    (said,) = it.told.messages
    assert said.startswith(f"n{late} has not answered for 10 s")
    it.clock.sleep(20.0)
    it.agents[1 - late].heartbeat()
    it.hears()
    assert (it.nodes.is_gathering, it.nodes.alive) == (False, [1 - late])


@pytest.mark.parametrize("odd", [0, 1])
def test_a_node_that_lacks_something_joins_and_is_named(
    room: Callable[..., Room], odd: int
) -> None:
    it = room(2, missing=2)
    it.agents[odd].warnings = ("/dev/shm has 64 MiB free",)
    for agent in it.agents:
        agent.hello()
    it.hears()
    it.hears()
    assert it.told.messages == [f"n{odd}: /dev/shm has 64 MiB free"]
    assert it.nodes.alive == [0, 1]
    kept = read_nodes(it.dir, refuse)[f"n{odd}"]
    assert kept.warnings == ("/dev/shm has 64 MiB free",)
