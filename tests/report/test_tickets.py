"""The ticket of a node that failed, of made-up runs on several nodes and on one."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.model import Report
from milabench_ddp.report.node_verdict import NodeVerdict, Word
from milabench_ddp.report.tickets import evidence_of
from milabench_ddp.results.evidence_archive import add_evidence
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.records import Run
from milabench_ddp.results.run_dir import RunDir
from tests.golden import check_golden
from tests.support.result_files import config, end, line, rates, start, write, write_state

LOST = "GPU 1 (GPU-b) reported Xid 79: it has fallen off the bus; restart the machine"


def gpus(node: str) -> dict[str, Any]:
    found = {}
    for index, uuid in enumerate(("GPU-a", "GPU-b")):
        found[str(index)] = {
            "product": "NVIDIA H100 80GB HBM3", "uuid": uuid, "vbios": "96.00.CF.00.02",
            "serial": f"165{index}", "pcie": {"bus_id": f"00000000:{index}B:00.0"},
        }  # fmt: skip
    return {"driver": "575.57.08", "gpus": found} if node else {"gpus": {}}


def made(folder: Path, odd: str, *nodes: str) -> tuple[Report, Run]:
    """A run on these nodes, with a lost GPU on the odd one."""
    run = folder / "made"
    for node in nodes:
        words = ["b", "D0", *([node] if node else [])]
        facts = {"accelerators": gpus(node), **({"node": node} if node else {})}
        problem = {
            "sentence": LOST,
            "device": 1,
            "uuid": "GPU-b",
            "time": 1012.0,
            "xid": 79,
            "action": "reboot",
        }
        told = line("device_problem", problem) if node == odd else ""
        write(
            run, ".".join(words), config("b", tag=words, tags=["validate"]), line("meta", facts),
            start(), told, rates([10.0] * 5), end(0, outcome="ok"), stderr=f"printed on {node}\n",
        )  # fmt: skip
    write_state(run, "ok", {"b": "ok"}, command=["milabench", "validate", "--nodes", "4"])
    RunDir(run).script("b").write_text("torchrun main.py\n")
    return report_of([run]), read_run(run)


def failing(report: Report) -> dict[str, NodeVerdict]:
    return {each.node: each for each in report.verdicts if each.verdict is Word.FAIL}


def test_what_a_vendor_is_told(tmp_path: Path) -> None:
    report, run = made(tmp_path, "n3", "n0", "n1", "n2", "n3")
    files = evidence_of(failing(report)["n3"], run)
    check_golden("report/ticket.md", files["ticket.md"].replace(str(tmp_path), "runs"))
    assert set(files) == {"ticket.md", "run/b.D0.n3.stderr", "run/b/command.sh"}
    assert files["run/b.D0.n3.stderr"] == "printed on n3\n"
    assert files["run/b/command.sh"] == "torchrun main.py\n"


@pytest.mark.parametrize("odd", ["n0", "n3"])
def test_only_the_node_that_fails_has_one(tmp_path: Path, odd: str) -> None:
    report, run = made(tmp_path, odd, "n0", "n1", "n2", "n3")
    assert list(failing(report)) == [odd]
    text = evidence_of(failing(report)[odd], run)["ticket.md"]
    for said in ("1651", "00000000:1B:00.0", "575.57.08", "**Action** reboot"):
        assert said in text


def test_of_a_single_host_its_name_is_told(tmp_path: Path) -> None:
    _, run = made(tmp_path, "", "")
    files = evidence_of(NodeVerdict("alone", Word.FAIL, ("it is slow",)), run)
    assert "alone failed its validation" in files["ticket.md"]
    assert "run/b.D0.stderr" in files


def test_the_number_in_which_a_node_is_furthest_below_its_peers(tmp_path: Path) -> None:
    _, run = made(tmp_path, "n1", "n0", "n1")
    verdict = NodeVerdict(
        "n1", Word.FAIL, action="isolate", benchmark="b", value=75.0, unit="items/s", peers=100.0,
        lower=0.25,
    )  # fmt: skip
    text = evidence_of(verdict, run)["ticket.md"]
    assert "**Action** isolate\n" in text
    assert "75 items/s in b, 25.0% below the median of its peers, 100\n" in text


@pytest.mark.parametrize("is_there", [False, True])
def test_the_report_says_where_the_archives_are(tmp_path: Path, *, is_there: bool) -> None:
    report, run = made(tmp_path, "n0", "n0")
    if is_there:
        add_evidence(RunDir(run.path), "n0", {"ticket.md": ""})
    assert (str(run.path / "evidence") in report_text(report, 1000)) is is_there


def test_long_outputs_are_cut_at_their_beginning(tmp_path: Path) -> None:
    _, run = made(tmp_path, "n0", "n0")
    RunDir(run.path).stream("b.D0.n0", "stderr").write_text("x" * 40_000 + "the end")
    files = evidence_of(NodeVerdict("n0", Word.FAIL), run)
    assert files["run/b.D0.n0.stderr"].endswith("xthe end")
    assert len(files["run/b.D0.n0.stderr"]) == 32768
