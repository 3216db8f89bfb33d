"""The ticket of a node that failed, of made-up runs on several nodes and on one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.model import Report
from milabench_ddp.report.node_verdict import NodeVerdict, Word
from milabench_ddp.report.tickets import evidence_of, failing
from milabench_ddp.results.evidence_archive import add_evidence
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.records import Run
from milabench_ddp.results.run_dir import RunDir
from tests.golden import check_golden
from tests.support.result_files import config, end, line, rates, start, write, write_state

LOST = "GPU 1 (GPU-b) reported Xid 79: it has fallen off the bus; restart the machine"
ROW = "GPU 0 (GPU-a) reported Xid 63: a row of its memory was replaced"
MACHINE = {"sys_vendor": "NVIDIA", "product_name": "DGX H100", "product_serial": "S-0042"}


def gpus(node: str) -> dict[str, Any]:
    found = {}
    for index, uuid in enumerate(("GPU-a", "GPU-b")):
        found[str(index)] = {
            "product": "NVIDIA H100 80GB HBM3", "uuid": uuid, "vbios": "96.00.CF.00.02",
            "serial": f"165{index}",
            "pcie": {"bus_id": f"00000000:{index}B:00.0", "slot": f"{index}"},
        }  # fmt: skip
    return {"driver": "575.57.08", "gpus": found} if node else {"gpus": {}}


def made(folder: Path, odd: str, *nodes: str) -> tuple[Report, Run]:
    """A run on these nodes, with a lost GPU on the odd one."""
    run = folder / "made"
    for node in nodes:
        words = ["b", "D0", *([node] if node else [])]
        facts = {"accelerators": gpus(node), "machine": MACHINE, **({"node": node} if node else {})}
        problem = {"sentence": LOST, "device": 1, "uuid": "GPU-b", "time": 1012.0, "xid": 79}
        told = line("device_problem", problem) if node == odd else ""
        if node == odd:  # and something that is no fault
            row = {"sentence": ROW, "device": 0, "uuid": "GPU-a", "time": 1011.0, "xid": 63}
            told += line("device_problem", {**row, "is_fault": False})
        write(
            run, ".".join(words), config("b", tag=words, tags=["validate"]), line("meta", facts),
            start(), told, rates([10.0] * 5), end(0, outcome="ok"), stderr=f"printed on {node}\n",
        )  # fmt: skip
    write_state(run, "ok", {"b": "ok"}, command=["milabench", "validate", "--nodes", "4"])
    RunDir(run).script("b").write_text("torchrun main.py\n")
    return report_of([run]), read_run(run)


def test_what_a_vendor_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, run = made(tmp_path, "n3", "n0", "n1", "n2", "n3")
    (node,) = failing(report)
    files = evidence_of(node, node, report, run)
    for name in ("ticket.md", "summary.txt"):
        check_golden(f"report/{name}", files[name].replace(str(tmp_path), "runs"))
    assert set(files) == {
        "ticket.md", "summary.txt", "findings.json", "output/b.D0.n3.stderr", "commands/b.sh",
    }  # fmt: skip
    assert files["output/b.D0.n3.stderr"] == "printed on n3\n"
    assert files["commands/b.sh"] == "torchrun main.py\n"
    (finding,) = json.loads(files["findings.json"])
    assert (finding["name"], finding["evidence"]["xid"]) == ("device_fault", 79)


@pytest.mark.parametrize("odd", ["n0", "n3"])
def test_only_the_node_that_fails_has_one(tmp_path: Path, odd: str) -> None:
    report, run = made(tmp_path, odd, "n0", "n1", "n2", "n3")
    assert list(failing(report)) == [odd]
    (reason,) = failing(report)[odd]
    assert reason.action == "reboot"
    text = evidence_of(odd, odd, report, run)["summary.txt"]
    for said in ("S-0042", "1651", "00000000:1B:00.0", "575.57.08"):
        assert said in text


def test_a_single_host_its_name_is_told(tmp_path: Path) -> None:
    report, run = made(tmp_path, "", "")
    (node,) = failing(report)
    assert node == ""
    files = evidence_of("", "alone", report, run)
    assert "alone failed its validation" in files["summary.txt"]
    assert "output/b.D0.stderr" in files


def test_the_number_in_which_a_node_is_furthest_below_its_peers(tmp_path: Path) -> None:
    report, run = made(tmp_path, "n1", "n0", "n1")
    verdict = NodeVerdict(
        "n1", Word.FAIL, action="isolate", benchmark="b", value=75.0, unit="items/s", peers=100.0,
        lower=0.25,
    )  # fmt: skip
    report = replace(report, verdicts=(NodeVerdict("n0", Word.PASS), verdict))
    text = evidence_of("n1", "n1", report, run)["summary.txt"]
    assert re.search(r"Action +isolate\n", text)
    assert "75 items/s in b, 25.0% below the median of its peers, 100\n" in text


@pytest.mark.parametrize("count", [0, 1, 9])
def test_the_report_says_where_the_archives_are(tmp_path: Path, count: int) -> None:
    report, run = made(tmp_path, "n0", "n0")
    for k in range(count):
        add_evidence(RunDir(run.path), f"n{k}", {"ticket.md": ""})
    text = report_text(report, 1000)
    assert (f"{run.path / 'evidence'}: n0.tar.gz" in text) is (count > 0)
    assert ("n7.tar.gz and 1 more" in text) is (count == 9)


def test_of_a_good_run_no_node_fails(tmp_path: Path) -> None:
    assert failing(made(tmp_path, "none", "n0", "n1")[0]) == {}


def test_long_outputs_are_cut_at_their_beginning_and_many_are_left_out(tmp_path: Path) -> None:
    report, run = made(tmp_path, "n0", "n0")
    for record in run.records * 20:
        RunDir(run.path).stream(record.tag, "stderr").write_text("x" * 40_000 + "the end")
    files = evidence_of("n0", "n0", report, run)
    assert files["output/b.D0.n0.stderr"].endswith("xthe end")
    assert len(files["output/b.D0.n0.stderr"]) == 32768
