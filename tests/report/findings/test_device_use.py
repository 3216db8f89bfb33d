"""Devices that may draw less power than usual, and those that did next to nothing."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import config, end, line, sampled, start, timed_rates, write

ASKS = {"usage": {"gpu_load_threshold": 0.5, "gpu_mem_threshold": 0.5}}
BUSY = {"load": 0.9, "memory": [60000.0, 80000.0]}


def run_of(
    folder: Path, *gpus: dict[str, Any], facts: dict[str, Any] | None = None, **settings: Any
) -> list[Finding]:
    """A run of a process on each of these GPUs, which read the same in each of ten seconds."""
    for device, reading in enumerate(gpus):
        made = config("b", device=device, tag=["b", f"D{device}"], **settings)
        meta = line("meta", {"accelerators": {"arch": "cuda", "gpus": facts or {}}})
        told = "".join(sampled(1000.5 + k, **{f"d{device}": reading}) for k in range(10))
        write(folder, f"b.D{device}", made, meta, start(), told, timed_rates([9.0] * 10), end())
    names = ("idle_device", "lowered_power_cap")
    return [each for each in report_of([folder]).findings if each.name in names]


@pytest.mark.parametrize("odd", [0, 3])
def test_a_device_without_load_is_told(tmp_path: Path, odd: int) -> None:
    gpus = [{"load": 0.0 if device == odd else 0.2} for device in range(4)]
    (found,) = run_of(tmp_path, *gpus)
    assert found.sentence == f"b: GPU {odd} was busy in 0.0% of the time, less than 1%"
    assert (found.severity, found.layer, found.place) == ("warning", "usage", f"GPU {odd}")


@pytest.mark.parametrize("ended", [(end(1),), ()])
def test_a_program_that_did_not_come_to_its_steps_is_not_idle(
    tmp_path: Path, ended: tuple[str, ...]
) -> None:
    told = "".join(sampled(1000.5 + k, d0={"load": 0.0}) for k in range(10))
    write(tmp_path, "b.D0", config("b", device=0, tag=["b", "D0"]), start(), told, *ended)
    assert "idle_device" not in [each.name for each in report_of([tmp_path]).findings]


def test_what_the_configuration_asks_for_counts(tmp_path: Path) -> None:
    low = {"load": 0.4, "memory": [30000.0, 80000.0]}
    assert run_of(tmp_path / "unasked", low) == []
    assert run_of(tmp_path / "busy", BUSY, validation=ASKS) == []
    assert [each.sentence for each in run_of(tmp_path / "low", low, validation=ASKS)] == [
        "b: GPU 0 was busy in 40.0% of the time, less than 50%",
        "b: GPU 0 had at most 37.5% of its memory in use, less than 50%",
    ]


@pytest.mark.parametrize("reading", [{"load": None}, {"load": None, "memory": None}])
def test_what_is_not_known_is_not_low(tmp_path: Path, reading: dict[str, Any]) -> None:
    assert run_of(tmp_path, reading, validation=ASKS) == []


def power(*caps: tuple[Any, Any]) -> dict[str, Any]:
    facts = {}
    for index, (cap, usual) in enumerate(caps):
        facts[str(index)] = {"power_limit": cap, "default_power_limit": usual}
    return facts


def test_a_lowered_power_cap_is_a_note(tmp_path: Path) -> None:
    facts = power((500.0, 700.0), (700.0, 700.0), (500.0, 700.0), (None, 700.0), (500.0, None))
    (found,) = run_of(tmp_path, *[BUSY] * 5, facts=facts)
    assert found.sentence == "GPU 0, GPU 2: the power cap is 500 W, and 700 W by default"
    assert (found.name, found.severity) == ("lowered_power_cap", "note")
    assert found.evidence == {"cap": 500.0, "default": 700.0}


def test_a_power_cap_that_is_usual_or_higher_is_not_told(tmp_path: Path) -> None:
    facts = power((700.0, 700.0), (800.0, 700.0), ("700", 800.0), (699.0, 700.0))
    assert run_of(tmp_path, *[BUSY] * 4, facts=facts) == []
