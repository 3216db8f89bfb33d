"""Steps end in time, and go on where they were cut off."""

import json
import os
import shutil
import subprocess
import time

import pytest

from perf.gpu_check import archive
from perf.gpu_check import steps as module
from perf.gpu_check.parts import Step
from perf.gpu_check.steps import Steps
from tests.support.package_copy import REPOSITORY
from tests.support.workplace import EMIT, GOOD

FOREVER = 600.0
ENVIRON = {"PYTHONPATH": str(REPOSITORY), **os.environ}


def steps(folder, seconds=FOREVER):
    return Steps(folder, ENVIRON, time.monotonic() + module.TO_STOP + seconds)


def printed(text, code=0):
    return Step("it", ["-c", f"print({text!r}); raise SystemExit({code})"])


@pytest.mark.parametrize(
    ("step", "line", "status"),
    [
        (printed("good"), "it", 0),
        (printed("1\nwhy it failed\n", 1), "it: why it failed", 1),
        (printed("FAIL: 1 of 2 ok\nNext", 1), "it: FAIL: 1 of 2 ok", 1),
        (printed("", 1), "it: it printed nothing", 1),
    ],
)
def test_how_a_step_ended(tmp_path, step, line, status):
    run = steps(tmp_path)
    told = run.run(step)
    assert told.split(" s  ")[1] == line
    assert run.status == status
    again = steps(tmp_path)
    assert again.run(step).endswith("it: before")  # what has ended is not run again
    assert again.status == status


def test_a_step_is_not_begun_without_time(tmp_path):
    run = steps(tmp_path, 0)
    assert run.run(printed("good")).startswith("not begun")
    assert run.status == 3
    assert steps(tmp_path).run(printed("good")).startswith("ok")


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_from_its_archive(tmp_path, at, suite):
    waits = f"{EMIT}\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n{GOOD}"
    config = str(at.folder / suite(first=GOOD, second=waits))
    argv = ["-m", "milabench_ddp", "run", config, "--device", "cpu", "--gpus", "1"]
    step = Step("run full", [*argv, "--base", str(tmp_path), "--name", "full", "--quiet"], "full")
    run = steps(tmp_path, 5)
    assert run.run(step).startswith("cut off")
    assert not [row for row in run.rows() if "second" in row]
    archive.pack(tmp_path, tmp_path / "packed.tar.gz")
    shutil.rmtree(tmp_path / "runs")  # another machine
    subprocess.run(["tar", "xzf", "packed.tar.gz"], cwd=tmp_path, check=True)
    (tmp_path / "go").touch()
    run = steps(tmp_path)
    assert run.run(step).endswith("run full: PASS: 2 of 2 benchmarks ok")
    assert [row.split()[:3] for row in run.rows()] == [
        ["full", "first", "100.9"],
        ["full", "second", "100.9"],
    ]
    assert run.status == 0


def test_a_step_that_does_not_stop_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TO_STOP", 0.5)
    stays = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    assert steps(tmp_path, 2).run(Step("it", ["-c", stays])).startswith("cut off")
    kept = json.loads((tmp_path / "done.json").read_text())
    assert kept["it"]["ended"] == "cut off"


def test_a_rate_stands_beside_what_the_monitor_has_read():
    read = {"samples": 10, "sm_clock": 1755.4, "power": 649.8}
    figures = {"perf": 790.12, "unit": "TFLOP/s", "step_ms": 41.82, "mfu": 0.799, "why_no_rate": ""}
    told = module._figures({**figures, "devices": [read]})
    assert " ".join(told.split()) == "790.1 TFLOP/s 41.82 ms 79.9% MFU 10 samples 1755 MHz 650 W"
    nothing = {**figures, "step_ms": None, "mfu": None, "devices": []}
    assert module._figures(nothing).split() == ["790.1", "TFLOP/s"]
    assert module._figures({**nothing, "perf": None, "why_no_rate": "why"}) == "no rate: why"
