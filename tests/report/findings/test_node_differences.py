"""The findings about nodes: those that differ or could not be used, first and last."""

from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Severity
from milabench_ddp.results.lock import claimed
from milabench_ddp.results.node_state import NodeState, NodeStatus
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import JobState
from tests.support.result_files import config, end, rates, start, write, write_state

SAME = {"the driver": "580.95"}


def run(folder: Path, *nodes: NodeState) -> Path:
    write(folder, "b.D0", config("b"), start(), rates([100.0, 101.0, 100.0] * 10), end())
    write_state(folder, "ok", {"b": "ok"})
    for node in nodes:
        write_record(RunDir(folder).node_json(node.name), node)
    return folder


@pytest.mark.parametrize("odd", ["n1", "n3"])
def test_nodes_that_differ_and_nodes_that_were_not_used(tmp_path: Path, odd: str) -> None:
    nodes = [NodeState(name, NodeStatus.JOINED, facts=SAME) for name in ("n1", "n2", "n3")]
    nodes = [each for each in nodes if each.name != odd]
    other = NodeState(odd, NodeStatus.JOINED, facts={"the driver": "570.1"})
    missing = NodeState("n9", NodeStatus.FAILED, "exit status 127", log=("no python",))
    found = report_of([run(tmp_path, *nodes, other, missing)]).findings
    by_name = {finding.name: finding for finding in found}
    different, unused = by_name["different_nodes"], by_name["unused_node"]
    said = f"nodes differ: the driver is 570.1 on {odd}, and 580.95 on the other 2 nodes"
    assert (different.sentence, different.place) == (said, odd)
    values = {**dict.fromkeys(["n1", "n2", "n3"], "580.95"), odd: "570.1"}
    assert different.evidence == {"key": "the driver", "values": values}
    assert (unused.sentence, unused.place) == ("n9 did not start: exit status 127", "n9")
    assert unused.evidence == {"status": "failed", "nodes": ("n9",), "log": ("no python",)}
    assert (different.severity, unused.severity) == (Severity.WARNING, Severity.ERROR)


def test_a_node_that_lacks_something(tmp_path: Path) -> None:
    warnings = ("/dev/shm has 64 MiB free", "no compiler")
    nodes = NodeState("n1", NodeStatus.JOINED), NodeState("n2", warnings=warnings)
    found = report_of([run(tmp_path, *nodes)]).findings
    lacking = [each for each in found if each.name == "lacking_node"]
    assert [each.sentence for each in lacking] == [f"n2: {warning}" for warning in warnings]
    assert [each.place for each in lacking] == ["n2", "n2"]


def test_many_nodes_are_one_finding(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(64)]
    why = "the setup command failed: module load cuda"
    nodes = [NodeState(each, NodeStatus.FAILED, why, warnings=("no compiler",)) for each in names]
    found = {finding.name: finding for finding in report_of([run(tmp_path, *nodes)]).findings}
    unused, lacking = found["unused_node"], found["lacking_node"]
    assert unused.sentence == f"64 nodes (n[0-63]) did not start: {why}"
    assert (unused.place, unused.evidence["nodes"]) == ("n[0-63]", tuple(names))
    assert lacking.sentence == "64 nodes (n[0-63]): no compiler"


def test_a_node_that_was_lost_before_is_told_of_a_run_that_passed(tmp_path: Path) -> None:
    """The first node was powered off, the job started again without it, and all is measured."""
    silent = ("has sent no heartbeat for 20 s",)
    nodes = [
        NodeState("n1", NodeStatus.LEFT_OUT, losses=silent),
        NodeState("n2", NodeStatus.JOINED),
        NodeState("n3", NodeStatus.JOINED, losses=silent),
        NodeState("n4", NodeStatus.LOST, "is gone", losses=("did not start: no GPU",)),
    ]
    report = report_of([run(tmp_path, *nodes[:3])])
    found = [finding for finding in report.findings if finding.name == "lost_before"]
    assert [(each.sentence, each.place, each.severity) for each in found] == [
        (f"n1 {silent[0]}; it was left out", "n1", Severity.WARNING),
        (f"n3 {silent[0]}; then it took part again", "n3", Severity.WARNING),
    ]
    text = report_text(report)
    assert text.startswith("PASS")
    assert all(each.sentence in text for each in found)
    report = report_of([run(tmp_path, nodes[3])])
    sentences = [finding.sentence for finding in report.findings]
    assert {"n4 is gone", "n4 did not start: no GPU (before)"} <= set(sentences)


@pytest.mark.parametrize(
    ("statuses", "jobs", "given", "options"),
    [
        ("joined lost failed joined", 1, None, " --exclude-nodes 'n[1-2]'"),
        ("joined joined left_out", 1, "n7", " --exclude-nodes n2,n7"),
        ("joined joined joined", 1, None, ""),  # lost for another reason
        ("joined failed lost", 1, None, ""),  # most of them: it is not their own
        ("joined lost joined", 0, None, ""),  # they are not Slurm's
    ],
)
def test_the_next_step_leaves_out_the_nodes_that_were_lost(
    tmp_path: Path, statuses: str, jobs: int, given: str | None, options: str
) -> None:
    nodes = []
    for number, status in enumerate(statuses.upper().split()):
        node = NodeState(f"n{number}", NodeStatus[status], "is gone", losses=("x",))
        nodes.append(node if status != "JOINED" else NodeState(f"n{number}", NodeStatus.JOINED))
    folder = run(tmp_path, *nodes)
    slurm = [JobState("all", 3, ("b",), "7", "FAILED")] * jobs
    write_state(folder, "failed", {"b": "lost"}, jobs=slurm)
    write_record(RunDir(folder).plan_json, {"runner": {"exclude": given, "kind": "slurm"}})
    (info,) = report_of([folder]).runs
    assert info.resume == f"milabench run --resume {folder}{options}"
    assert f"{info.resume}: run what has no result" in report_text(report_of([folder]), 1000)


@pytest.mark.parametrize(
    ("outcome", "status"), [("ok", "ok"), ("failed", "failed"), (None, "lost")]
)
def test_without_anything_to_run_again_there_is_no_such_step(
    tmp_path: Path, outcome: str | None, status: str
) -> None:
    folder = run(tmp_path)
    with claimed(folder):  # without an outcome, it goes on
        write_state(folder, outcome, {"b": status})
        assert report_of([folder]).runs[0].resume == ""


def test_one_cause_of_many_nodes_and_benchmarks_is_told_once(tmp_path: Path) -> None:
    why = "the setup command failed: module load cuda/12.9"
    nodes = [NodeState(f"n{number}", NodeStatus.FAILED, why) for number in range(64)]
    folder = run(tmp_path, *nodes)
    said = f"64 nodes (n[0-63]) did not start: {why}"
    reasons = dict.fromkeys(["c-4", "c-8"], f"too few nodes: 0 of 64 can be used: {said}")
    write_state(folder, "failed", {"b": "ok", "c-4": "lost", "c-8": "lost"}, reasons)
    text = " ".join(report_text(report_of([folder])).split())
    assert text.count(why) == 1
    assert f"failed {said}, in 2: c-4, c-8" in text


def test_equal_nodes_and_a_run_without_agents_have_no_finding(tmp_path: Path) -> None:
    nodes = [NodeState(name, NodeStatus.JOINED, facts=SAME) for name in ("n1", "n2")]
    for number, some in enumerate((nodes, [])):
        (tmp_path / str(number)).mkdir()
        found = report_of([run(tmp_path / str(number), *some)]).findings
        assert not {"different_nodes", "unused_node"} & {finding.name for finding in found}
