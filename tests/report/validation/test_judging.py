"""Planted clusters whose truth is known, and the verdict on each node."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct
from msgspec.structs import replace

from milabench_ddp.codec import write_record
from milabench_ddp.commands.final_report import exit_code
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.findings.finder import Measurements
from milabench_ddp.report.model import Failure, Report, Row
from milabench_ddp.report.node_verdict import NodeVerdict, Word
from milabench_ddp.report.sentences import nodes_told, of_nodes
from milabench_ddp.report.tables import REPORT_TABLES
from milabench_ddp.report.validation.judging import NOT_MEASURED, verdicts_of
from milabench_ddp.results.node_state import NodeState, NodeStatus
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import config, end, line, rates, start, write, write_state

NODES = ("node1", "node2", "node10")
TAGS = ["validate", "quick"]


class Known(Struct, frozen=True):
    """What a test says of a device."""

    node: str
    word: Word = Word.PASS
    why: str = ""
    place: str = "device 0"
    value: float = 99.0
    unit: str = "TFLOP/s"
    median: float = 100.0
    lower: float = 0.01
    smallest: float = 0.05


def planted(
    folder: Path, nodes: Sequence[str] = NODES, *, is_joint: bool = False, **states: NodeState
) -> Measurements:
    """A run of a benchmark with a process on each node; ``states`` of nodes that are not well."""
    own = {"plan": {"method": "njobs", "n": 1}, "devices": [0]} if is_joint else {"device": 0}
    write_state(folder, "ok", {"flops": "ok"})
    for node in nodes:
        tag = ["flops", "D0", *filter(None, [node])]
        settings = config("flops", tag=tag, tags=TAGS, num_machines=len(nodes), **own)
        about = line("meta", {"node": node, "os": {"nodename": "here"}})
        write(folder, ".".join(tag), settings, about, start(), rates([100.0] * 20), end(0))
        if node:
            write_record(RunDir(folder).node_json(node), NodeState(node, NodeStatus.JOINED))
    for node in states.values():
        write_record(RunDir(folder).node_json(node.name), node)
    made = report_of([folder])
    return Measurements(False, [read_run(folder)], made.rows)


def judge(*known: Known) -> Callable[[Row], Sequence[Known]]:
    return lambda row: known if row.name == "flops" else ()


def against(*nodes: str, **fields: object) -> Finding:
    sentence = f"{nodes[0]} is broken"
    made = Finding(sentence, name="x", severity=Severity.ERROR, nodes=nodes, fails=True)
    return replace(made, **fields)


def words(verdicts: Sequence[NodeVerdict]) -> dict[str, str]:
    return {each.node: str(each.verdict) for each in verdicts}


def test_all_pass_where_each_is_as_fast_as_its_peers(tmp_path: Path) -> None:
    known = [Known(node, lower=0.001 * rank) for rank, node in enumerate(NODES)]
    made = verdicts_of(planted(tmp_path), (), judge(*known))
    assert words(made) == dict.fromkeys(NODES, "pass")  # in their natural order
    assert [each.reasons for each in made] == [(), (), ()]
    assert of_nodes(made) == "PASS: 3 of 3 nodes pass"


@pytest.mark.parametrize("odd", NODES)
def test_the_node_that_a_finding_names_fails(tmp_path: Path, odd: str) -> None:
    found = against(odd, action="reset"), against(odd, sentence="its fan", action="isolate")
    made = verdicts_of(planted(tmp_path), found, judge(*map(Known, NODES)))
    assert words(made) == {node: "fail" if node == odd else "pass" for node in NODES}
    (bad,) = (each for each in made if each.verdict is Word.FAIL)
    assert bad.reasons == (f"{odd} is broken", "its fan")
    assert bad.action == "isolate"  # the gravest
    assert next(nodes_told(made)) == f"fail: {odd}: {odd} is broken; its fan -> isolate"


def test_a_finding_that_fails_nobody_is_no_reason(tmp_path: Path) -> None:
    found = against(NODES[0], fails=False, severity=Severity.WARNING)
    made = verdicts_of(planted(tmp_path), [found], judge(*map(Known, NODES)))
    assert words(made) == dict.fromkeys(NODES, "pass")


def test_what_could_not_be_compared_is_no_fault(tmp_path: Path) -> None:
    """A node passes only by all that measured it."""
    known = [
        *(Known(NODES[0]), Known(NODES[0], Word.CANNOT_TELL, "it has no peers", lower=math.nan)),
        *(Known(NODES[1]), Known(NODES[1])),
    ]
    made = verdicts_of(planted(tmp_path), (), judge(*known))
    assert words(made) == {"node1": "cannot tell", "node2": "pass", "node10": "cannot tell"}
    assert made[0].reasons == ("flops: it has no peers",)
    assert made[2].reasons == (NOT_MEASURED,)
    assert (made[0].value, made[0].smallest) == (99.0, 0.05)  # what is known is told
    assert of_nodes(made) == "CANNOT TELL: 1 of 3 nodes pass, of 2 it cannot be told"


def test_an_error_of_which_no_node_is_the_cause(tmp_path: Path) -> None:
    broke = Finding("flops: it broke", "flops", severity=Severity.ERROR)
    known = judge(*map(Known, NODES))
    made = verdicts_of(planted(tmp_path), [broke], known)
    assert words(made) == dict.fromkeys(NODES, "cannot tell")
    assert {each.reasons for each in made} == {("flops: it broke",)}
    of_run = verdicts_of(planted(tmp_path / "a"), [replace(broke, benchmark="")], known)
    assert words(of_run) == dict.fromkeys(NODES, "cannot tell")
    of_others = verdicts_of(planted(tmp_path / "o"), [replace(broke, benchmark="mine")], known)
    assert words(of_others) == dict.fromkeys(NODES, "pass")


def test_a_node_that_fails_explains_what_broke_on_all_together(tmp_path: Path) -> None:
    found = Finding("flops: it broke", "flops", severity=Severity.ERROR), against("node2")
    known = judge(*map(Known, NODES))
    together = verdicts_of(planted(tmp_path / "a", is_joint=True), found, known)
    assert words(together) == {"node1": "pass", "node2": "fail", "node10": "pass"}
    measured = planted(tmp_path / "c", is_joint=True)
    never_ran = replace(measured, rows=[replace(measured.rows[0], processes=())])
    assert words(verdicts_of(never_ran, found, known)) == words(together)
    apart = verdicts_of(planted(tmp_path / "b"), found, known)
    assert words(apart) == {"node1": "cannot tell", "node2": "fail", "node10": "cannot tell"}


@pytest.mark.parametrize(("count", "word"), [(1, "fail"), (2, "cannot tell"), (3, "cannot tell")])
def test_what_is_the_same_on_most_nodes_is_no_fault_of_theirs(
    tmp_path: Path, count: int, word: str
) -> None:
    """A command of ``setup`` that fails everywhere, for example."""
    states = {node: NodeState(node, NodeStatus.FAILED, "no module") for node in NODES[:count]}
    planted(tmp_path, **states)
    made = report_of([tmp_path])
    assert {each.verdict for each in made.verdicts[:count]} == {word}
    assert all("did not start: no module" in each.reasons[0] for each in made.verdicts[:count])


@pytest.mark.parametrize("tags", [7, None, "validate", {"validate": 1}])
def test_damaged_tags_judge_nobody(tmp_path: Path, tags: object) -> None:
    for number, config_tags in enumerate([TAGS, tags]):
        settings = config("flops", tag=["flops", f"D{number}"], device=number, tags=config_tags)
        write(tmp_path, f"flops.D{number}", settings, start(), rates([100.0] * 20), end(0))
    assert len(report_of([tmp_path]).verdicts) == 0


def test_a_row_that_cannot_be_judged_is_told_as_such(tmp_path: Path) -> None:
    def breaks(row: Row) -> Sequence[Known]:
        raise ValueError(row.name)

    made = verdicts_of(planted(tmp_path), (), breaks)
    assert words(made) == dict.fromkeys(NODES, "cannot tell")


def test_what_was_stopped_was_not_judged(tmp_path: Path) -> None:
    stopped = Failure("flops", "run", None, "cancelled", "stopped on request")
    measured = replace(planted(tmp_path), failures=(stopped,))
    made = verdicts_of(measured, (), judge(*map(Known, NODES)))
    assert words(made) == dict.fromkeys(NODES, "cannot tell")
    assert made[0].reasons == ("flops: stopped on request",)


def test_nodes_that_never_came_or_were_lost_fail(tmp_path: Path) -> None:
    states = {
        "a": NodeState("node0", NodeStatus.FAILED, "no GPU"),
        "b": NodeState("node2", NodeStatus.LOST, "has sent no heartbeat"),
        "c": NodeState("node10", NodeStatus.JOINED, losses=("has sent no heartbeat",)),
    }
    planted(tmp_path, **states)
    made = report_of([tmp_path])
    fails = {each.node: each for each in made.verdicts if each.verdict is Word.FAIL}
    assert list(fails) == ["node0", "node2", "node10"]
    assert fails["node0"].reasons[0] == "node0 did not start: no GPU"
    assert "then it took part again" in fails["node10"].reasons[0]
    assert exit_code(made) == 1


def test_the_number_is_that_furthest_below_its_peers(tmp_path: Path) -> None:
    known = [Known(NODES[0], place=f"device {k}", lower=0.01 * (k == 5)) for k in range(8)]
    first, *_ = verdicts_of(planted(tmp_path), (), judge(*known))
    assert (first.benchmark, first.place, first.lower) == ("flops", "device 5", 0.01)


def test_of_many_nodes_that_differ_some_are_told() -> None:
    fails = [NodeVerdict(f"n{k}", Word.FAIL, (f"its fan turns {k} times",)) for k in range(40)]
    alike = [NodeVerdict(f"m{k}", Word.CANNOT_TELL, ("it was away",)) for k in range(40)]
    passes = [NodeVerdict(f"p{k}", Word.PASS) for k in range(40)]
    told = list(nodes_told([*passes, *alike, *fails]))
    assert len(told) == 14
    assert told[-2:] == [
        "pass: p[0-39]",
        "and 68 nodes more that do not pass: --table verdicts has all",
    ]
    assert list(nodes_told(alike)) == ["cannot tell: m[0-39]: it was away"]


def test_a_single_host_has_a_name(tmp_path: Path) -> None:
    (alone,) = verdicts_of(planted(tmp_path, [""]), [against("")], judge(Known("")))
    assert (alone.node, alone.verdict) == ("here", Word.FAIL)


def test_other_runs_judge_no_node(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([1.0] * 5), end(0))
    made = report_of([tmp_path])
    assert made.verdicts == ()
    assert REPORT_TABLES["verdicts"](made).rows == ()


@pytest.mark.parametrize(
    ("all_of_them", "code"),
    [(["pass", "pass"], 0), (["pass", "fail", "cannot tell"], 1), (["cannot tell", "pass"], 3)],
)
def test_the_worst_is_the_exit_code(tmp_path: Path, all_of_them: list[str], code: int) -> None:
    planted(tmp_path)
    made = [NodeVerdict(f"n{k}", Word(word)) for k, word in enumerate(all_of_them)]
    report = replace(report_of([tmp_path]), verdicts=tuple(made))
    assert exit_code(report) == code
    warned = replace(report, findings=(Finding("it drifts", severity=Severity.WARNING),))
    assert exit_code(warned, "warning") == (code or 1)


def measured_once(folder: Path, slow: str, random: Random) -> Report:
    """A process on each of two devices of five nodes, and one for each node; 1 % of noise."""
    suite = {name: {"tags": TAGS} for name in ("one", "each")}
    write_state(folder, "ok", {"one": "ok", "each": "ok"}, suite=suite)
    for node in (f"node{k}" for k in range(1, 6)):
        for name, place in (("one", "D0"), ("one", "D1"), ("each", "0")):
            plan = {"method": "njobs", "n": 1, "each": "node"}
            own = {"plan": plan, "devices": [0, 1]} if name == "each" else {"device": int(place[1])}
            usual = random.gauss(100, 0.3) * (0.9 if node == slow else 1)
            settings = config(name, tag=[name, place, node], tags=TAGS, num_machines=5, **own)
            told = rates([random.gauss(usual, 1) for _ in range(80)], steps=1)
            about = line("meta", {"node": node})
            write(folder, f"{name}.{place}.{node}", settings, about, start(), told, end(0))
    return report_of([folder])


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["", "node1", "node5"])
def test_of_fifty_runs_none_fails_a_healthy_node_and_all_the_slow_one(
    tmp_path: Path, slow: str
) -> None:
    random = Random(slow)
    for run in range(50):
        made = measured_once(tmp_path / str(run), slow, random)
        told = {node: word for node, word in words(made.verdicts).items() if word != "pass"}
        assert told == ({slow: "fail"} if slow else {})
