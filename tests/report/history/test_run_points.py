"""What is kept of a run."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.history.run_points import BenchmarkPoint, run_point
from tests.support.made_up_history import write_run
from tests.support.result_files import (
    config,
    end,
    job,
    line,
    parts,
    rates,
    start,
    steps,
    told,
    write,
    write_state,
)

OK, FAILED = end(0, outcome="ok"), end(1, outcome="failed", reason="exit status 1")


def test_devices_are_known_by_their_uuids(tmp_path: Path) -> None:
    point = run_point(write_run(tmp_path, 3, {"flops": {"GPU-a": 100.0, "GPU-b": 104.0}}))
    flops = point.benchmarks["flops"]
    assert (point.name, point.started) == ("r03", 1.8e9 + 3 * 86400)
    assert (flops.rate, flops.unit) == (pytest.approx(102.0), "items/s")
    assert {key: each.speed for key, each in flops.devices.items()} == {
        "GPU-a": pytest.approx(100.0),
        "GPU-b": pytest.approx(104.0),
    }
    assert flops.devices["GPU-b"].device.place == "GPU 1 of node1"


def test_without_uuids_they_are_known_by_their_places(tmp_path: Path) -> None:
    flops = run_point(write_run(tmp_path, 1, {"flops": {"a": 1.0, "b": 2.0}})).benchmarks["flops"]
    assert list(flops.devices) == ["GPU 0 of node1", "GPU 1 of node1"]


def test_what_the_driver_tells_of_a_device_is_kept(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 1, {"flops": {"GPU-a": 1.0}}, lambda _: {"power_limit": 700.0})
    facts = run_point(folder).benchmarks["flops"].devices["GPU-a"].facts
    assert facts["power_limit"] == "700.0"
    assert facts["place"] == "GPU 0 of node1"


def of_ranks(folder: Path, *records: str) -> BenchmarkPoint:
    write_state(folder, "ok", {"gpt": "ok"})
    gpus = {str(k): {"uuid": f"GPU-{k}", "product": "H100"} for k in (2, 3)}
    meta = line("meta", {"accelerators": {"arch": "cuda", "gpus": gpus}})
    head = job("gpt", devices=[2, 3])
    write(folder, "gpt.0", head, meta, start(), *records, rates([8.0] * 9), OK)
    return run_point(folder).benchmarks["gpt"]


def test_ranks_that_train_together_count_by_their_own_work(tmp_path: Path) -> None:
    """They take equally long for a step; rank 1 waits for rank 0."""
    found = of_ranks(
        tmp_path,
        told(model={"mode": "ddp"}),
        steps(0, [20.0] * 40),
        steps(1, [20.0] * 40),
        parts(0, forward=8.0, exposed_communication=2.0, optimizer=10.0),
        parts(1, forward=8.0, exposed_communication=7.0, optimizer=5.0),
    )
    speeds = {key: 1000 / each.speed for key, each in found.devices.items()}
    assert speeds == {"GPU-2": pytest.approx(18.0), "GPU-3": pytest.approx(13.0)}


def test_the_device_that_a_rank_tells_wins(tmp_path: Path) -> None:
    told_devices = [told(model={"mode": "ddp"})]
    told_devices += [told(rank, device={"uuid": f"GPU-{9 - rank}"}) for rank in (0, 1)]
    times = [steps(rank, [20.0] * 40) + parts(rank, forward=9.0) for rank in (0, 1)]
    assert list(of_ranks(tmp_path, *told_devices, *times).devices) == ["GPU-9", "GPU-8"]


def test_what_failed_has_no_rate_but_a_reason(tmp_path: Path) -> None:
    write_state(tmp_path, "failed", {"a": "failed", "b": "timeout"}, {"b": "it took longer"})
    write(tmp_path, "a.D0", config("a", device=0), start(), FAILED)
    point = run_point(tmp_path)
    assert not point.benchmarks
    assert point.without_rate == {"a": "failed: exit status 1", "b": "timeout: it took longer"}


def test_a_run_that_did_not_say_when_it_began(tmp_path: Path) -> None:
    write(
        tmp_path, "a.D0", config("a", device=0), line("start", {}), rates([1.0]), end(0, math.nan)
    )
    assert run_point(tmp_path).started is None


@pytest.mark.parametrize("planted", ["env", "told", ""])
def test_what_was_measured_with_planted_faults_is_no_point(tmp_path: Path, planted: str) -> None:
    fault = "slow:0.5@1"
    of = config("flops", device=0, env={"MILABENCH_PLANT": fault} if planted == "env" else {})
    lines = told(planted={"fault": fault}) if planted == "told" else ""
    write_state(tmp_path, "ok", {"flops": "ok"})
    write(tmp_path, "flops.D0", of, start(), lines, rates([8.0] * 9), OK)
    point = run_point(tmp_path)
    assert ("flops" in point.benchmarks) == (not planted)
    assert dict(point.without_rate) == ({"flops": "faults are planted in it"} if planted else {})
