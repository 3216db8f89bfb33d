"""What the report says of GPUs that fail, hide or lack something, in runs on a stub of NVML."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.commands.final_report import exit_code
from milabench_ddp.events import Outcome
from milabench_ddp.machine.sampler import Sampler
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Severity
from tests.support.gpu_runs import SAMPLED, WAITS, about, report_on
from tests.support.result_files import config, end, line, start, write
from tests.support.workplace import GOOD

UUID = "GPU-11111111-1111-1111-1111-111111111111"
WHEN = r"from \d\d:\d\d:\d\d UTC on \d{4}-\d\d-\d\d"
BREAKS = f"{SAMPLED}\n(run / 'broken').touch(); wait_for('does not answer', any)"
TOLD = f"{WAITS}\nwait_for('may not use', all)"
# The GPU takes its program with it, long before the monitor looks again.
CRASHES = f"""{GOOD}
if os.environ["CUDA_VISIBLE_DEVICES"] == "1":
    open(os.environ["MILABENCH_TRACES"] + "/../broken", "w")
    raise RuntimeError("CUDA error: unspecified launch failure")
"""
FINDERS_OF_PROBLEMS = ("lost_device", "device_fault", "device_warning", "device_note")
Stub = Callable[..., None]


@pytest.fixture(autouse=True)
def all_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_nothing_is_said_of_whole_gpus(stub: Stub, tmp_path: Path) -> None:
    report = report_on(tmp_path, good=SAMPLED)
    assert report.runs[0].outcome == Outcome.OK
    assert about(report, "lost_device") == about(report, "device_note") == []
    assert report.rows[0].peak_memory == 2048.0


def test_a_gpu_that_is_lost_while_a_benchmark_runs(stub: Stub, tmp_path: Path) -> None:
    stub(f"1 error 15 when {tmp_path / 'broken'}")
    report = report_on(tmp_path, before=SAMPLED, breaks=BREAKS, later=GOOD)
    (sentence,) = about(report, "lost_device")
    lost = f"GPU 1 ({UUID}) does not answer: it has fallen off the bus; restart the machine"
    assert re.fullmatch(rf"{re.escape(lost)} \({WHEN}, in breaks, later\)", sentence)
    assert sentence in report_text(report, 1000)
    assert report_text(report, 1000).startswith(f"FAIL: 3 of 3 benchmarks ok, but {sentence}\n")
    assert (exit_code(report), exit_code(report, "none")) == (1, 0)


def test_a_gpu_that_takes_its_program_with_it(stub: Stub, tmp_path: Path) -> None:
    stub(f"1 error 15 when {tmp_path / 'broken'}", f"1 xid 79 when {tmp_path / 'broken'}")
    report = report_on(tmp_path, gpu_poll=600.0, crashes=CRASHES)
    found = [*about(report, "lost_device"), *about(report, "device_fault")]
    assert [sentence.split(" (GPU")[0] for sentence in found] == ["GPU 1", "GPU 1"]
    assert "does not answer: it has fallen off the bus; restart the machine" in found[0]
    assert "reported Xid 79: it has fallen off the bus; restart the machine" in found[1]
    assert [failure.tag for failure in report.failures] == ["crashes.D1"]
    lost, fault = (
        next(each for each in report.findings if each.name == name)
        for name in ("lost_device", "device_fault")
    )
    assert (lost.nodes, lost.fails, lost.action) == (("",), True, "reboot")
    assert (fault.nodes, fault.fails, fault.action) == (("",), True, "reboot")
    assert fault.evidence["xid"] == 79


def test_a_driver_that_fails_before_the_first_launch(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Sampler.start

    def fail_and_start(sampler: Sampler) -> None:
        stub("system init 4")
        start(sampler)

    monkeypatch.setattr(Sampler, "start", fail_and_start)
    report = report_on(tmp_path, good=TOLD)
    (sentence,) = about(report, "device_fault")
    why = "this user may not use the NVIDIA driver: see the permissions of /dev/nvidia*"
    assert re.fullmatch(rf"{re.escape(why)} \({WHEN}, in good\)", sentence)
    (found,) = (each for each in report.findings if each.name == "device_fault")
    assert found.nodes == ()  # what this user may not ask is no fault of the node


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "* mig 1",
            "MIG device 1 (MIG-10101010-1010-1010-1010-101010101010) tells no load, "
            "no temperature, no power: Not Supported (in good)",
        ),
        (
            "* memory error:3",
            f"GPU 1 ({UUID}) tells no memory: Not Supported (in good)",
        ),
        ("1 power error:4", f"GPU 1 ({UUID}) tells no power: Insufficient Permissions (in good)"),
        ("1 error 15", "GPU 1 is left out: it has fallen off the bus; restart the machine"),
    ],
)
def test_what_is_missing_is_no_damage(
    stub: Stub, tmp_path: Path, statement: str, sentence: str
) -> None:
    stub(statement)
    report = report_on(tmp_path, good=SAMPLED)
    first, *_, last = 2 * about(report, "device_note")
    assert last == sentence
    assert first in report_text(report, 1000)
    # the machine that tests run on may be busy
    warnings = [each for each in report.findings if each.severity is Severity.WARNING]
    assert [each.sentence for each in warnings if each.name != "busy_host"] == []


def test_memory_that_no_device_tells_is_not_shown_as_none(stub: Stub, tmp_path: Path) -> None:
    stub("* memory error:3")
    (row,) = report_on(tmp_path, good=SAMPLED).rows
    assert row.peak_memory_source is None


@pytest.mark.parametrize("time", [1e30, "nan", -1.0])
def test_damaged_notes_and_problems_do_not_make_the_report_fail(tmp_path: Path, time: Any) -> None:
    facts = line("meta", {"accelerators": {"notes": 5}})
    problem = line("device_problem", {"sentence": "GPU 0 is lost", "time": time, "is_lost": True})
    write(tmp_path, "b.D0", config("b"), facts, start(), problem, end(0, outcome="ok"))
    report = report_of([tmp_path])
    assert about(report, "lost_device") == about(report, "device_note") == []
    assert len(about(report, "damaged_file")) == 1


# On four nodes, the first and the last of which have something; the graver action counts.
@pytest.mark.parametrize(
    ("facts", "name", "fails", "action"),
    [
        ({"xid": 64, "action": "isolate"}, "device_fault", True, "isolate"),
        ({"xid": 48, "action": "reset"}, "device_fault", True, "reset"),
        ({"xid": 48, "action": "reboot"}, "device_fault", True, "reboot"),
        ({"action": "isolate"}, "device_fault", True, "isolate"),
        ({}, "device_fault", True, ""),
        ({"device": None, "action": "reboot"}, "device_fault", True, "reboot"),
        ({"is_lost": True}, "lost_device", True, "reboot"),
        ({"is_lost": True, "action": "reset"}, "lost_device", True, "reset"),
        ({"xid": 63, "is_fault": False, "action": "watch"}, "device_warning", False, "watch"),
        ({"xid": 999, "is_fault": False}, "device_warning", False, ""),
        ({"xid": 31, "is_fault": False, "action": "watch"}, "device_note", False, "watch"),
    ],
)
@pytest.mark.parametrize("node", ["n0", "n3"])
def test_which_node_fails_by_a_problem_of_a_device_and_what_to_do(
    tmp_path: Path, node: str, facts: dict[str, Any], name: str, action: str, *, fails: bool
) -> None:
    for each in ("n0", "n1", "n2", "n3"):
        problem = {"sentence": "GPU 1 is odd", "device": 1, "uuid": UUID, "time": 1.0, **facts}
        told = line("device_problem", problem) if each == node else ""
        head = line("meta", {"node": each})
        settings = {"tag": ["b", "D0", each]}
        write(tmp_path, f"b.D0.{each}", config("b", **settings), head, start(), told, end())
    found = [each for each in report_of([tmp_path]).findings if each.name in FINDERS_OF_PROBLEMS]
    assert [(each.name, each.nodes) for each in found] == [(name, (node,))]
    assert (found[0].fails, found[0].action) == (fails, action)
    assert found[0].evidence.get("xid") == facts.get("xid")


@pytest.mark.parametrize("tags", [["validate"], []])
def test_a_gpu_that_was_lost_before_a_validation_fails_its_node(
    tmp_path: Path, tags: list[str]
) -> None:
    lost = "GPU 1 is left out: it has fallen off the bus; restart the machine"
    hidden = "GPU 2 is left out: it is not open to this process (a cgroup or permissions)"
    for node, notes in {"n0": [], "n1": [lost, hidden]}.items():
        head = line("meta", {"node": node, "accelerators": {"notes": notes}})
        settings = {"tag": ["b", "D0", node], "tags": tags}
        write(tmp_path, f"b.D0.{node}", config("b", **settings), head, start(), end())
    found = [each for each in report_of([tmp_path]).findings if each.name == "lost_device"]
    told = [(each.sentence, each.nodes, each.fails, each.action) for each in found]
    assert told == [(f"n1: {lost}", ("n1",), True, "reboot")] * bool(tags)
