"""Nodes where processes broke or hung: named where others ended ok, and only there."""

from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome, Status
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState, RankCall
from tests.support.result_files import config, end, job, line, rates, start, write, write_state

NODES = ("n1", "n2", "n3")
EACH = {"method": "njobs", "n": 1, "each": "node"}
TAGS = ["validate"]


def found(folder: Path, name: str) -> list[Finding]:
    return [each for each in report_of([folder]).findings if each.name == name]


def run(folder: Path, *broken: str, tags: list[str] = TAGS, each: bool = False) -> list[Finding]:
    """A process on each node, of which some took too long."""
    for node in NODES:
        tag = ["b", "0" if each else "D0", node]
        own = {"plan": EACH} if each else {"device": 0}
        settings = config("b", tag=tag, tags=tags, num_machines=3, devices=[0, 1], **own)
        is_bad = node in broken
        how = end(-15, outcome="timeout", reason="took 60 s") if is_bad else end(0)
        write(folder, ".".join(tag), settings, line("meta", {"node": node}), start(),
              rates([1.0] * 9), how)  # fmt: skip
    return found(folder, "failed_on_node")


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("odd", NODES)
def test_the_node_where_it_broke_is_named(tmp_path: Path, odd: str, each: bool) -> None:
    (one,) = run(tmp_path, odd, each=each)
    assert (one.nodes, one.place, one.fails) == ((odd,), odd, True)
    assert one.evidence == {"processes": 1, "outcome": "timeout", "ok": 2}
    assert one.sentence == f"b: {odd}: 1 of 1 took too long: took 60 s; 2 of 3 ended ok"


@pytest.mark.parametrize("broken", [(), NODES, NODES[:2]])
def test_nobody_is_where_none_broke_or_most(tmp_path: Path, broken: tuple[str, ...]) -> None:
    assert run(tmp_path, *broken) == []


def test_nobody_is_in_a_run_that_does_not_validate(tmp_path: Path) -> None:
    assert run(tmp_path, "n1", tags=["other"]) == []


def test_who_still_told_data_only_came_late(tmp_path: Path) -> None:
    """It is not told whether the node is slow: no verdict on it, and the others pass."""
    run(tmp_path, "n1")
    tag, late = "b.D0.n1", Outcome.TIMEOUT
    process = ProcessState(tag, 1, -15, late, "late", 0.0, 9.0, goes_on=True)
    launch = LaunchState(None, late, "late", (process,), NODES)
    write_state(tmp_path, "failed", {"b": "timeout"}, suite={"b": {"tags": TAGS}})
    state = BenchmarkState("b", Status.TIMEOUT, "late", launches=[launch], nodes=NODES)
    write_record(RunDir(tmp_path).state_json("b"), state)
    made = report_of([tmp_path])
    assert [each for each in made.findings if each.name == "failed_on_node"] == []
    unclear = {each.node: each.reasons for each in made.verdicts}
    assert any("timeout" in reason for reason in unclear["n1"]), unclear
    assert not any("timeout" in reason for reason in unclear["n2"] + unclear["n3"])


WAITS = {"waits_in": "all_reduce", "state": "S"}


def hung(folder: Path, *calls: RankCall, outcome: Outcome = Outcome.TIMEOUT) -> list[Finding]:
    """A job of two ranks on each node that did not go on, and where its ranks were."""
    processes = []
    for place, node in enumerate(NODES):
        tag = ["b", "0", node, *(["nolog"] if place else [])]
        settings = job("b", 2, 3, tag=tag, tags=TAGS)
        write(folder, ".".join(tag), settings, line("meta", {"node": node}), start(),
              end(-15, outcome=outcome, reason="late"))  # fmt: skip
        mine = calls[2 * place : 2 * place + 2]
        processes.append(
            ProcessState(".".join(tag), 1, -15, outcome, "late", 0.0, 9.0, calls=tuple(mine))
        )
    write_state(folder, "failed", {"b": "timeout"})
    launch = LaunchState(None, outcome, "late", tuple(processes), NODES)
    state = BenchmarkState("b", Status(outcome), "late", launches=[launch], nodes=NODES)
    write_record(RunDir(folder).state_json("b"), state)
    return found(folder, "hung_on_node")


def ranks(*odd: int, **how: object) -> list[RankCall]:
    calls = [RankCall(rank, call="f()", **WAITS) for rank in range(6)]
    for rank in odd:
        calls[rank] = RankCall(rank, **{"state": "S", "call": "f()", "waits_in": "", **how})
    return calls


@pytest.mark.parametrize("odd", [0, 3, 5])
@pytest.mark.parametrize("how", [{}, {"state": "T", "waits_in": "all_reduce"}])
def test_the_node_whose_rank_did_not_come_is_named(
    tmp_path: Path, odd: int, how: dict[str, object]
) -> None:
    (one,) = hung(tmp_path, *ranks(odd, **how))
    assert (one.nodes, one.evidence["ranks"]) == ((NODES[odd // 2],), [odd])


def test_two_ranks_of_a_node_are_one_node(tmp_path: Path) -> None:
    (one,) = hung(tmp_path, *ranks(2, 3))
    assert (one.nodes, one.evidence["ranks"]) == (("n2",), [2, 3])


@pytest.mark.parametrize("odd", [(), (0, 5), (0, 1, 2, 3, 4, 5)])
def test_nobody_is_where_all_wait_or_several_do_not(tmp_path: Path, odd: tuple[int, ...]) -> None:
    assert hung(tmp_path, *ranks(*odd)) == []
