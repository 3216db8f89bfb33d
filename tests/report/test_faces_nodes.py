"""The report of a validation, as people and programs get it."""

import json
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables import REPORT_TABLES
from milabench_ddp.results.node_state import NodeState, NodeStatus
from milabench_ddp.results.run_dir import RunDir
from tests.golden import check_golden
from tests.support.result_files import write_state
from tests.support.validated_runs import TAGS, alone, healthy


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Four nodes of eight devices; one device is slow, one node is slow, one never came."""
    speeds = healthy()
    speeds["n0", 7] *= 0.85
    speeds |= {place: 0.9 * speed for place, speed in speeds.items() if place[0] == "n3"}
    monkeypatch.chdir(tmp_path)
    folder = Path("run")
    alone(folder, speeds)
    suite = {"flops": {"tags": TAGS}}

    write_state(folder, "ok", {"flops": "ok"}, suite=suite)
    for name in ("n0", "n1", "n2", "n3"):
        write_record(RunDir(folder).node_json(name), NodeState(name, NodeStatus.JOINED))
    gone = NodeState("n4", NodeStatus.FAILED, "its agent ended with exit status 1")
    write_record(RunDir(folder).node_json("n4"), gone)
    return report_of([folder])


def test_its_text(made: Report) -> None:
    check_golden("report/validation.txt", FORMATS["text"].report(made))


def test_its_table(made: Report) -> None:
    table = REPORT_TABLES["verdicts"](made)
    write = FORMATS["markdown"].table
    assert write is not None
    check_golden("report/verdicts.md", write(table))


def test_others_have_all_nodes_too(made: Report) -> None:
    document = json.loads(FORMATS["json"].report(made))
    words = {each["node"]: each["verdict"] for each in document["verdicts"]}
    assert words == {"n0": "fail", "n1": "pass", "n2": "pass", "n3": "fail", "n4": "fail"}
    assert document["verdict"] == "FAIL: 2 of 5 nodes pass, 3 fail"
    markdown = FORMATS["markdown"].report(made)
    assert "- **Nodes**" in markdown
    assert "n4 did not start" in markdown
    page = FORMATS["html"].report(made)
    assert '<section id="nodes"><h2>Nodes</h2>' in page
