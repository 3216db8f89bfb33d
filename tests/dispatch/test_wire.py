import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.dispatch import wire
from milabench_ddp.events import Outcome
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.plan.launch import Process
from milabench_ddp.results.state import LaunchState, ProcessState

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
devices = st.builds(
    Device,
    st.integers(0, 9),
    st.text(),
    st.text(),
    st.floats(0, 1e6, allow_nan=False),
    numbers,
)
nodes = st.builds(Node, st.text(), st.lists(devices).map(tuple), st.integers(1, 999))


def sent(values: Any) -> Any:
    return json.loads(json.dumps(values))


@given(processes)
def test_a_process_arrives_as_it_was(process: Process) -> None:
    assert wire.process(sent(wire.of_process(process))) == process


@given(nodes)
def test_a_node_arrives_as_it_was(node: Node) -> None:
    assert wire.node(sent(wire.of_node(node))) == node


def test_the_end_of_a_launch() -> None:
    part = ProcessState("b.D0", 7, -9, Outcome.FAILED, "killed by SIGKILL", 1.0, 2.5, rates=3)
    end = sent(wire.of_end(LaunchState(None, Outcome.FAILED, "it broke", 0.5, None, (part,))))
    assert end == {**end, "outcome": "failed", "reason": "it broke", "start_skew_ms": 0.5}
    assert wire.processes_of(end) == [
        ProcessState("b.D0", 7, -9, Outcome.FAILED, "killed by SIGKILL", 1.0, 2.5, rates=3)
    ]
