import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.codec import decode, encode
from milabench_ddp.dispatch.protocol import (
    FindPorts,
    Finish,
    FromAgent,
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
    ToAgent,
)
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import LaunchState, ProcessState
from tests.support.launches import benchmark

words = st.lists(st.text()).map(tuple)
numbers = st.lists(st.integers(0, 99)).map(tuple)
processes = st.builds(
    Process,
    tag=words,
    argv=words,
    env=st.dictionaries(st.text(), st.text()),
    node=st.integers(0, 9),
    devices=numbers,
    job=st.none() | st.integers(0, 9),
)
memory = st.floats(0, 1e6, allow_nan=False)
devices = st.builds(Device, st.integers(0, 9), st.text(), st.text(), memory, numbers)
nodes = st.builds(Node, st.text(), st.lists(devices).map(tuple), st.integers(1, 999))


def arrived_at_agent(message: ToAgent) -> ToAgent:
    return decode(encode(message), ToAgent)  # type: ignore[arg-type]


def arrived_at_coordinator(message: FromAgent) -> FromAgent:
    return decode(encode(message), FromAgent)  # type: ignore[arg-type]


@given(st.lists(processes, max_size=3).map(tuple))
def test_a_launch_arrives_as_it_was(processes: tuple[Process, ...]) -> None:
    message = StartLaunch("1", Launch(benchmark("b"), 2, processes, 3))
    assert arrived_at_agent(message) == message


@given(nodes)
def test_a_node_arrives_as_it_was(node: Node) -> None:
    message = Hello(3, node, "10.0.0.1")
    assert arrived_at_coordinator(message) == message


def test_the_end_of_a_launch_arrives_as_it_was() -> None:
    part = ProcessState("b.D0", 7, -9, Outcome.FAILED, "killed by SIGKILL", 1.0, 2.5, RateCounts(3))
    state = LaunchState(None, Outcome.FAILED, "it broke", (part,), ("n0",))
    message = LaunchEnded("1", state)
    assert arrived_at_coordinator(message) == message


@pytest.mark.parametrize(
    "message",
    [
        Heartbeat(),
        FindPorts("1", 2),
        StopLaunch("1", Verdict(Outcome.LOST, "why"), hard=True),
        Ping("x"),
        Finish(),
    ],
)
def test_what_a_coordinator_says(message: ToAgent) -> None:
    assert arrived_at_agent(message) == message


@pytest.mark.parametrize(
    "message",
    [Heartbeat(), Ports("1", (29_000, 29_001)), Pong("x"), Problem("no"), Signalled()],
)
def test_what_an_agent_says(message: FromAgent) -> None:
    assert arrived_at_coordinator(message) == message


def test_a_message_is_one_line_that_names_its_type() -> None:
    assert encode(Problem("a\nb é")) == '{"type":"Problem","text":"a\\nb é"}'.encode()


@pytest.mark.parametrize("text", ["{}", "[1]", '{"type":"Ping"}', '{"type":"Hello","rank":"x"}'])
def test_what_is_not_a_message_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        decode(text, FromAgent)  # type: ignore[arg-type]
