"""Histories with known changes, from run folders."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from milabench_ddp.errors import RunDirError, SelectionError
from milabench_ddp.report.history import history
from milabench_ddp.report.history.change_points import Step
from milabench_ddp.report.history.history import BACK, CHANGE, DRIFT, History, history_of
from milabench_ddp.report.history.noise import FEWEST
from tests.support.made_up_history import slowed, waving, write_run
from tests.support.result_files import config, end, rates, start, write, write_state

GPUS = 8


def write_all(folder: Path, logs: np.ndarray, **machine: Any) -> list[Path]:
    """A run for each row, of one benchmark on a GPU for each column."""
    found = []
    for number, row in enumerate(logs, 1):
        speeds = {f"GPU-{k}": 100 * float(np.exp(log)) for k, log in enumerate(row)}
        found.append(write_run(folder, number, {"flops": speeds}, **machine))
    return found


def named(history: History) -> set[str]:
    return {change.track.device.key for change in history.changes if change.track.device}


@pytest.mark.parametrize("slow", [0, GPUS - 1])
def test_a_gpu_that_gets_slower_is_named_with_its_run_and_size(tmp_path: Path, slow: int) -> None:
    logs = slowed(waving(slow, runs=32, devices=GPUS), slow, 30)
    runs = write_all(tmp_path, logs)
    history = history_of(runs[::-1])  # the order of time is that of the runs' own
    (change,) = history.changes
    assert named(history) == {f"GPU-{slow}"}
    assert (change.before, change.run) == (28, 29)
    assert change.ratio == pytest.approx(0.96, abs=0.01)
    assert change.low < 0.96 < change.high
    assert not named(history_of(runs[:29]))


def machine(number: int) -> Mapping[str, Any]:
    driver = "550.54" if number < 9 else "560.28"
    torch = "2.8.0" if number < 12 else "2.9.0"
    return {"accelerators": {"driver": driver}, "pytorch": {"torch": torch}}


def test_a_step_of_a_benchmark_is_told_with_what_changed_there(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    runs = []
    for number in range(1, 17):
        rate = (100 if number < 9 else 93) * (1 + 0.004 * draw.normal())
        speeds = {"flops": {"GPU-0": rate}, "other": {"GPU-0": 50.0}}
        runs.append(write_run(tmp_path, number, speeds, **machine(number)))
    (change,) = history_of(runs).changes
    assert (change.track.benchmark, change.run, change.kind) == ("flops", 8, CHANGE)
    assert change.old == pytest.approx(100, abs=0.5)
    assert change.new == pytest.approx(93, abs=0.5)
    assert change.low - 0.005 < 0.93 < change.high + 0.005
    assert change.differs == ("driver: 550.54 -> 560.28",)


def test_of_a_gpu_what_changed_is_its_own(tmp_path: Path) -> None:
    logs = slowed(waving(2, runs=20, devices=4), 1, 14)
    runs = []
    for number, row in enumerate(logs, 1):
        speeds = {"flops": {f"GPU-{k}": float(np.exp(log)) for k, log in enumerate(row)}}
        limit = 700.0 if number < 14 else 600.0
        runs.append(
            write_run(
                tmp_path,
                number,
                speeds,
                lambda uuid, limit=limit: {"power_limit": limit} if uuid == "GPU-1" else {},
            )
        )
    (change,) = history_of(runs).changes
    assert change.differs == ("power_limit: 700.0 -> 600.0",)


def test_small_losses_add_up(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    runs = []
    for number in range(1, 31):
        rate = 100 * 0.998**number * (1 + 0.003 * draw.normal())
        runs.append(write_run(tmp_path, number, {"flops": {"GPU-0": rate}}))
    (change,) = history_of(runs).changes
    assert (change.kind, change.before, change.run) == (DRIFT, 0, 29)
    assert change.ratio == pytest.approx(0.998**29, abs=0.01)
    assert not history_of(runs, threshold=0.1).changes


@pytest.mark.parametrize(("lows", "ways"), [(1, ["slower", BACK]), (2, [BACK, BACK, BACK])])
def test_a_level_seen_before_is_no_change(tmp_path: Path, lows: int, ways: list[str]) -> None:
    """A fault that was mended is one change; a state that comes again is none."""
    draw = np.random.default_rng(0)
    levels = np.resize([100.0] * 10 + [93.0] * 8, 10 + 18 * lows - 10 * (lows - 1))
    rates = levels * (1 + 0.004 * draw.normal(size=len(levels)))
    runs = [write_run(tmp_path, k, {"flops": {"GPU-0": rate}}) for k, rate in enumerate(rates, 1)]
    changes = history_of(runs).changes
    assert [change.way for change in changes] == ways
    assert [change.run for change in changes] == [10, 18, 28][: len(ways)]


def test_of_two_gpus_the_slower_one_is_told(tmp_path: Path) -> None:
    logs = slowed(waving(0, runs=20, devices=2), 1, 14, by=0.08)
    (change,) = history_of(write_all(tmp_path, logs)).changes
    assert change.track.device is not None
    assert (change.track.device.key, change.track.peers, change.way) == ("GPU-1", 1, "slower")


def test_notes_tell_what_is_not_in_it(tmp_path: Path) -> None:
    runs = [write_run(tmp_path, number, {"a": {"x": 1.0, "y": 1.0}}) for number in (1, 2)]
    failed = tmp_path / "failed"
    write_state(failed, "failed", {"a": "failed"}, {"a": "exit status 1"}, created=1.9e9)
    other = tmp_path / "other"
    write_state(other, "ok", {"a": "ok"}, created=1.7e9)
    values = rates([1.0] * 9, units="GB/s")
    write(other, "a.D0", config("a", device=0), start(1.7e9), values, end(0, 1.7e9, outcome="ok"))
    history = history_of([*runs, failed, other])
    assert [run.name for run in history.runs] == ["other", "r01", "r02", "failed"]
    assert history.notes == (
        "a has no rate in 1 of 4 runs, the last of them failed: failed: exit status 1",
        "a is in items/s: runs in GB/s are left out (1)",
        f"of fewer than {FEWEST} runs, nothing is told: a",
    )


def test_a_copy_of_a_run_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path, 1, {"a": {"x": 1.0}})
    copy = copytree(run, tmp_path / "copy")
    with pytest.raises(RunDirError, match="is a copy of"):
        history_of([run, copy])
    assert len(history_of([run, run / ".." / "r01"]).runs) == 1


def test_benchmarks_are_selected_by_name(tmp_path: Path) -> None:
    run = write_run(tmp_path, 1, {"gpt-ddp": {"x": 1.0}, "gpt-fsdp": {"x": 1.0}, "t5": {"x": 1.0}})
    names = [track.benchmark for track in history_of([run], ["gpt-*"]).tracks]
    assert names == ["gpt-ddp", "gpt-fsdp"]
    with pytest.raises(SelectionError, match=r"--select t55: .*did you mean `t5`"):
        history_of([run], ["t55"])


@pytest.mark.parametrize(("error", "told"), [(0.04, False), (0.029, True)])
def test_a_change_whose_interval_holds_none_is_not_told(error: float, told: bool) -> None:
    for size in (0.03, -0.03):
        assert history._is_large(Step(5, 0.0, size, error), 0.01) is told
