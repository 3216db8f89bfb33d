"""What is said of devices that do not work as they should: from the stub of NVML to the report."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.machine.host import other_process
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Severity
from milabench_ddp.report.model import Report
from tests.support.gpu_runs import STEPS, about, report_on
from tests.support.result_files import config, end, line, sampled, start, timed_rates, write

UUID = "GPU-11111111-1111-1111-1111-111111111111"
ALL: dict[str, Severity] = {
    "hot": Severity.WARNING,
    "foreign_process": Severity.WARNING,
    "memory_error": Severity.ERROR,
    "earlier_memory_error": Severity.WARNING,
    "remap_pending": Severity.WARNING,
    "corrected_memory_error": Severity.NOTE,
    "narrow_link": Severity.WARNING,
}
FULL = ("* generation 5", "* width 16", "* headroom 30", "* f3 7", "* f4 0")
ROWS = ("* f142 1", "* f143 0", "* f144 0", "* f145 0")


def found(report: Report) -> dict[str, list[str]]:
    return {name: sentences for name in ALL if (sentences := about(report, name))}


@pytest.fixture(autouse=True)
def all_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_from_the_driver_to_the_report(stub: Callable[..., None], tmp_path: Path) -> None:
    """All of it happens to GPU 1, from the middle of its steps on; nothing to GPU 0."""
    other = os.getppid()
    happens = (
        "headroom 2", "temperature 85", "f3 9", "f4 1", "f144 1", f"pids {other}"
    )  # fmt: skip
    later = [f"1 {each} when {tmp_path / 'changed.1'}" for each in happens]
    stub(*FULL, *ROWS, "1 generation 4", "1 width 8", *later)
    report = report_on(tmp_path, b=STEPS)
    (shared,) = found(report).pop("foreign_process")
    assert shared.startswith("b: GPU 1 was shared in ")
    assert shared.endswith(f"% of the measured steps: {other_process(other)}")
    name = f"GPU 1 ({UUID})"
    assert {key: said for key, said in found(report).items() if key != "foreign_process"} == {
        "hot": ["b: GPU 1 came within 2 degrees of the heat that slows it down (it was at 85 C)"],
        "memory_error": [f"{name}: ECC could not correct 1 memory error (in b)"],
        "remap_pending": [f"{name}: a row of its memory waits for a reset to be replaced"],
        "corrected_memory_error": [f"{name}: ECC corrected 2 memory errors (in b)"],
        "narrow_link": [
            f"{name}: its PCIe link was of generation 4 x8, 25% of generation 5 x16, which is "
            "possible"
        ],
    }
    for each in report.findings:
        if each.name in ALL:
            assert each.severity is ALL[each.name]
            assert each.advice
            assert each.place in ("GPU 1", name)
    done = {each.name: (each.nodes, each.fails, each.action) for each in report.findings}
    assert done["memory_error"] == (("",), True, "reset")
    assert done["remap_pending"] == (("",), False, "reset")
    assert done["corrected_memory_error"] == done["narrow_link"] == (("",), False, "watch")


def run_of(folder: Path, gpus: dict[str, Any], *states: dict[str, Any]) -> Report:
    """A run on two GPUs of one process each, with a sample in each second for each state."""
    for device in range(2):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        facts = line("meta", {"accelerators": {"arch": "cuda", "gpus": gpus}})
        told = ""
        for k, state in enumerate(states):
            told += sampled(1000.5 + k, **{f"d{device}": state.get(f"d{device}", {})})
        rates = timed_rates([10.0] * len(states))
        write(folder, f"b.D{device}", settings, facts, start(), told, rates, end(0, outcome="ok"))
    return report_of([folder])


def test_errors_from_before_the_run_are_told_as_such(tmp_path: Path) -> None:
    state = {"d1": {"ecc": [4, 3], "remapped": [0, 1, 0, 1]}, "d0": {"ecc": [4, 0]}}
    report = run_of(tmp_path, {}, *[state] * 10)
    done = {each.name: (each.nodes, each.fails, each.action) for each in report.findings}
    assert done["memory_error"] == (("",), True, "isolate")
    assert done["earlier_memory_error"] == (("",), False, "reset")
    assert found(report) == {
        "memory_error": ["GPU 1: a row of its memory could not be replaced"],
        "earlier_memory_error": [
            "GPU 1: ECC could not correct 3 memory errors since its driver was loaded, before this "
            "run"
        ],
    }


def test_a_link_is_compared_with_that_of_equal_devices(tmp_path: Path) -> None:
    """In a slot of 8 lanes the driver tells 8 as its greatest width."""
    gpus = {
        "0": {"product": "H100", "pcie": {"generation": 5, "width": 16}},
        "1": {"product": "H100", "pcie": {"generation": 5, "width": 8}},
    }
    state = {"d0": {"pcie_link": [5, 16]}, "d1": {"pcie_link": [5, 8]}}
    idle = {"d0": {"pcie_link": [1, 16], "load": 0.0}, "d1": {"pcie_link": [1, 8], "load": 0.0}}
    said = found(run_of(tmp_path / "equal", gpus, idle, *[state] * 10))
    (sentence,) = said["narrow_link"]
    assert sentence.startswith("GPU 1: its PCIe link was of generation 5 x8, 50% of generation 5")
    for reading in state.values():
        reading["load"] = None  # as of an instance of MIG: it may be idle
    assert found(run_of(tmp_path / "unknown", gpus, *[state] * 10)) == {}
    state = {device: {**reading, "load": 1.0} for device, reading in state.items()}
    gpus["1"]["product"] = "L4"
    assert found(run_of(tmp_path / "other", gpus, idle, *[state] * 10)) == {}


def test_a_process_that_is_there_before_and_after_the_measured_steps_is_not_told(
    tmp_path: Path,
) -> None:
    shared = {"d0": {"foreign": ["x (pid 1, of y)"]}, "d1": {"foreign": []}}
    alone = {"d0": {"foreign": []}, "d1": {"foreign": []}}
    assert found(run_of(tmp_path / "alone", {}, *[alone] * 10)) == {}
    (sentence,) = found(run_of(tmp_path, {}, *[alone] * 6, *[shared] * 4))["foreign_process"]
    assert sentence == "b: GPU 0 was shared in 40% of the measured steps: x (pid 1, of y)"


def test_errors_that_came_between_benchmarks_were_not_before_the_run(tmp_path: Path) -> None:
    for k, name in enumerate("ab"):
        told = "".join(sampled(1000.5 + 20 * k + s, d0={"ecc": [0, k]}) for s in range(10))
        write(tmp_path, f"{name}.D0", config(name, device=0), start(), told, end(0, outcome="ok"))
    sentence = "GPU 0: ECC could not correct 1 memory error since its driver was loaded"
    assert found(report_of([tmp_path])) == {"memory_error": [sentence]}


def test_what_is_so_in_each_launch_is_told_once(tmp_path: Path) -> None:
    state = {"headroom": 2.0, "temperature": 85.0, "foreign": ["x (pid 1, of y)"]}
    for launch in range(3):
        settings = config("b", device=0, tag=["b", f"R{launch}", "D0"])
        cold = {} if launch else {"headroom": 1.0}
        told = "".join(sampled(1000.5 + s, d0={**state, **cold}) for s in range(10))
        rates = timed_rates([10.0] * 10)
        write(tmp_path, f"b.R{launch}.D0", settings, start(), told, rates, end(0, outcome="ok"))
    assert found(report_of([tmp_path])) == {
        "hot": ["b: GPU 0 came within 1 degrees of the heat that slows it down (it was at 85 C)"],
        "foreign_process": ["b: GPU 0 was shared in 100% of the measured steps: x (pid 1, of y)"],
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("facts", "reading"),
    [
        ({"pcie": {"generation": 2**70, "width": 16}}, {}),
        ({"pcie": {"generation": 1e50, "width": math.nan}}, {}),
        ({"product": ["H100"]}, {}),
        ({}, {"power": math.inf}),
        ({}, {"power": 1e308}),
        ({}, {"pcie_link": [10**8, 16]}),
    ],
)
def test_no_fact_and_no_reading_makes_the_report_fail(
    tmp_path: Path, facts: dict[str, Any], reading: dict[str, Any]
) -> None:
    usual = {"product": "H100", "pcie": {"generation": 5, "width": 16}}
    state = {"d0": {"pcie_link": [5, 16], "power": 300.0, **reading}}
    report = run_of(tmp_path, {"0": {**usual, **facts}}, *[state] * 20)
    assert found(report) == {}
    assert "b" in report_text(report)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (2.0, "came within 2 degrees of the heat that slows it down"),
        (0.0, "reached the heat that slows it down"),
        (-3.0, "reached the heat that slows it down"),
    ],
)
def test_the_heat_that_slows_a_device_down(tmp_path: Path, left: float, said: str) -> None:
    hot = {"d0": {"headroom": left, "temperature": 90.0}}
    report = run_of(tmp_path, {}, *[hot] * 10)
    assert found(report) == {"hot": [f"b: GPU 0 {said} (it was at 90 C)"]}
