"""Some scenes of ``tests/soak``, which plays them for hours; its laws are shown to bite."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.soak.faults import FAULTS, Fault
from tests.soak.scene import REPOSITORY, Scene


def scene(folder: Path, *names: str) -> Scene:
    return Scene(folder, Random(0), {name: FAULTS[name] for name in names})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain"])
def test_a_scene(name: str) -> None:
    """In a process of its own, as the soak plays it: it becomes the parent of all orphans."""
    words = [
        sys.executable,
        *("-m", "tests.soak", "--scene", name, "--one", "3", "--programs", "2"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert found["laws"]["no process is left"] >= 1
    assert found["laws"]["no rate is lost"] >= 8


def test_a_process_a_file_and_a_pipe_that_are_left_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.soak.scene.PATIENCE", 0.0)
    it = scene(tmp_path, "good")
    it.check_clean()
    assert not [fault for fault in it.faults if "file" in fault or "pipe" in fault]
    (tmp_path / "tmp" / "milabench-x").mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as left:
        it.check_clean()
        left.send_signal(signal.SIGKILL)
    laws = [fault.split(":")[0] for fault in it.faults]
    assert "no process is left" in laws
    assert "no temporary file is left" in laws


def test_a_rate_that_is_lost_or_another_is_found(tmp_path: Path) -> None:
    it = scene(tmp_path, "good")
    (tmp_path / "ledgers" / "7").write_text("0\n1\n2\n")
    it.check_rates("good.D0", [100.0, 101.0, 102.0], {"pid": 7})
    assert it.faults == []
    it.check_rates("good.D0", [100.0, 101.0], {"pid": 7})
    it.check_rates("good.D0", [100.0, 102.0, 103.0], {"pid": 7})
    assert it.faults == [
        "no rate is lost: good.D0: 2 of 3",
        "rates are right: good.D0: [100.0, 102.0, 103.0]",
    ]


def test_an_outcome_that_is_another_is_found(tmp_path: Path) -> None:
    it = Scene(tmp_path, Random(0), {"good": Fault(FAULTS["exits-3"].program)})
    it.check_codes(it.wait(it.begin()), 0)
    it.check_truth()
    laws = [fault.split(":")[0] for fault in it.faults]
    assert laws == ["exit code", "outcome"]
