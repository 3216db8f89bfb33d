"""What a coordinator keeps of its nodes, and what it tells of them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from milabench_ddp.codec import refuse, write_record
from milabench_ddp.dispatch import node_records
from milabench_ddp.dispatch.node_records import PATIENCE, NodeRecords, NodeTeller
from milabench_ddp.results.node_state import (
    NodeDifference,
    NodeState,
    NodeStatus,
    begin_attempt,
    leave_out,
    read_nodes,
)
from milabench_ddp.results.run_dir import RunDir
from tests.support.progress import RecordedProgress


def test_each_change_is_on_disk_and_told_once(tmp_path: Path) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    run.nodes.mkdir()
    records = NodeRecords(run, ["n0", "n1"], told)
    assert {node.status for node in read_nodes(run, refuse).values()} == {NodeStatus.AWAITED}
    records.set("n0", NodeStatus.FAILED, "its agent ended", ("no such file",))
    records.change("n1", NodeState("n1.cluster", NodeStatus.JOINED, facts={"python": "3.12"}))
    records.tell()
    records.tell()
    assert told.messages == ["n0 did not start: its agent ended\n    no such file"]
    assert records.problems == ["n0 did not start: its agent ended"]
    assert read_nodes(run, refuse) == records.states
    assert records.states["n1"].name == "n1.cluster"


def test_nodes_to_which_the_same_happens_are_told_together() -> None:
    told, now = RecordedProgress(), [0.0]
    teller = NodeTeller(told, lambda: now[0])
    nodes = {f"n{k}": NodeState(f"n{k}") for k in range(64)}
    for k in range(62):
        nodes[f"n{k}"] = NodeState(f"n{k}", NodeStatus.FAILED, f"no GPU (see n{k}.log)", ("why",))
        assert not teller.tell(nodes)
    now[0] = PATIENCE  # n62 and n63 check their GPUs for minutes
    assert teller.tell(nodes)
    nodes["n62"] = NodeState("n62", NodeStatus.JOINED)
    assert not teller.tell(nodes)
    nodes["n63"] = NodeState("n63", NodeStatus.FAILED, "no GPU")
    assert teller.tell(nodes)
    assert told.messages == [
        "62 nodes (n[0-61]) did not start: no GPU (see n0.log)\n    why",
        "n63 did not start: no GPU",
    ]


def test_what_is_held_back_is_told_at_the_end() -> None:
    told = RecordedProgress()
    teller = NodeTeller(told, lambda: 0.0)
    nodes = {"n0": NodeState("n0", NodeStatus.FAILED, "no GPU"), "n1": NodeState("n1")}
    assert not teller.tell(nodes)
    assert teller.tell(nodes, is_last=True)
    assert told.messages == ["n0 did not start: no GPU"]


def test_why_a_node_was_lost_stays_over_attempts(tmp_path: Path) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    run.nodes.mkdir()
    for reason in ("has no power", "is cut off"):
        records = NodeRecords(run, ["n0"], told)
        records.change("n0", NodeState("n0", NodeStatus.JOINED))
        records.set("n0", NodeStatus.LOST, reason)
    again = NodeRecords(run, ["n0", "n1"], told)
    again.change("n0", NodeState("n0", NodeStatus.JOINED))
    known = read_nodes(run, refuse)
    assert known["n0"].losses == ("has no power", "is cut off")
    assert known["n1"].losses == ()
    assert known["n0"].problem == ""
    assert again.problems == []


def test_a_node_that_comes_late_or_back_is_told(tmp_path: Path) -> None:
    told = RecordedProgress()
    teller = NodeTeller(told)
    states = [
        NodeState("n0", NodeStatus.AWAITED, "has not answered for 10 s"),
        NodeState("n0", NodeStatus.JOINED),
        NodeState("n0", NodeStatus.LOST, "has sent no heartbeat for 20 s"),
        NodeState("n0", NodeStatus.JOINED),
    ]
    for state in states:
        teller.tell({"n0": state})
    assert told.messages == [
        "n0 has not answered for 10 s",
        "n0 has joined",
        "n0 has sent no heartbeat for 20 s",
        "n0 is back",
    ]


def test_a_loss_is_kept_when_the_node_is_back_and_over_attempts(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    silent = "has sent no heartbeat for 20 s"
    records = NodeRecords(run, ["n0", "n1", "n2"], RecordedProgress())
    for name in ("n0", "n1", "n2"):
        records.change(name, NodeState(name, NodeStatus.JOINED))
    for status, reason in ((NodeStatus.LOST, silent), (NodeStatus.JOINED, "")) * 2:
        records.set("n0", status, reason)
    records.set("n1", NodeStatus.LOST, silent)
    assert records.states["n0"].losses == (silent,)
    begin_attempt(run)
    again = NodeRecords(run, ["n0", "n3"], RecordedProgress())
    again.set("n0", NodeStatus.AWAITED, "has not answered for 10 s")  # only late
    again.change("n0", NodeState("n0", NodeStatus.JOINED, facts={"python": "3.12"}))
    found = read_nodes(run, refuse)
    assert {name: (state.status, state.losses) for name, state in found.items()} == {
        "n0": (NodeStatus.JOINED, (silent,)),
        "n1": (NodeStatus.LEFT_OUT, (silent,)),
        "n2": (NodeStatus.LEFT_OUT, ()),
        "n3": (NodeStatus.AWAITED, ()),
    }


def test_a_node_keeps_the_job_that_it_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    for job in ("7", "8"):
        monkeypatch.setenv("SLURM_JOB_ID", job)
        records = NodeRecords(run, [f"n{job}", "both"], RecordedProgress())
        for name in records.states:
            records.change(name, NodeState(name, NodeStatus.JOINED))
    found = read_nodes(run, refuse).values()
    assert {state.name: state.job for state in found} == {"n7": "7", "n8": "8", "both": "8"}


def test_a_node_that_is_left_out_is_told() -> None:
    told = RecordedProgress()
    teller = NodeTeller(told)
    failed = NodeState("n0", NodeStatus.FAILED, "no GPU")
    teller.tell({"n0": leave_out(failed), "n1": leave_out(NodeState("n1", NodeStatus.JOINED))})
    assert told.messages == ["n0 did not start: no GPU; it is left out"]


def test_what_an_earlier_attempt_left_is_not_told_again() -> None:
    told = RecordedProgress()
    teller = NodeTeller(told)
    lost = {"n0": NodeState("n0", NodeStatus.LOST, "has sent no heartbeat for 20 s")}
    teller.ignore(lost)
    teller.tell(lost)
    assert told.messages == []


def test_a_difference_is_told_once_all_have_been_heard_of() -> None:
    told = RecordedProgress()
    teller = NodeTeller(told)
    joined = {
        f"n{k}": NodeState(f"n{k}", NodeStatus.JOINED, facts={"python": "3.11" if k else "3.12"})
        for k in range(3)
    }
    teller.tell({**joined, "n3": NodeState("n3")})
    assert told.messages == []
    teller.tell(joined)
    teller.tell(joined)
    (said,) = told.messages
    assert said == "nodes differ: python is 3.12 on n0, and 3.11 on the other 2 nodes"


def test_nodes_are_compared_when_one_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator tells after each heartbeat; comparing 1,000 nodes each time took a core."""
    compared = []

    def counted(nodes: Iterable[NodeState]) -> Iterator[NodeDifference]:
        compared.append(len(list(nodes)))
        return iter(())

    monkeypatch.setattr(node_records, "differences", counted)
    records = NodeRecords(RunDir(tmp_path), ["n0", "n1"], RecordedProgress())
    for name in ("n0", "n1"):
        records.change(name, NodeState(name, NodeStatus.JOINED, facts={"python": "3.12"}))
    for _ in range(3):
        records.tell()
    assert compared == [2]
    records.set("n0", NodeStatus.LOST)
    records.tell()
    assert compared == [2, 2]


def test_the_state_of_a_node_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three states of each of 1,000 nodes, at 10 ms each, are half a minute before a run begins."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    records = NodeRecords(RunDir(tmp_path), ["n0"], RecordedProgress())
    records.set("n0", NodeStatus.JOINED)
    assert synced == []
    write_record(tmp_path / "state.json", records.states["n0"])  # of a benchmark, say
    assert len(synced) == 1


def test_a_state_that_cannot_be_written_is_told_once_and_ends_nothing(tmp_path: Path) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    run.node_json("n0").mkdir(parents=True)
    records = NodeRecords(run, ["n0", "n1"], told)
    records.set("n0", NodeStatus.JOINED)
    assert told.messages == [f"cannot write {run.node_json('n0')}: Is a directory"]
    assert records.states["n0"].status is NodeStatus.JOINED
    assert set(read_nodes(run)) == {"n1"}
