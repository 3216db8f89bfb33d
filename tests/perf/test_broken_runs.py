"""Some of the attacks of ``perf/broken_runs.py``, which makes 10,000 of them."""

from pathlib import Path

import pytest
from broken_runs import Attacker

from milabench_ddp.results import read_files


def test_no_broken_run_makes_a_report_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_files, "SMALLEST", 4096)
    attacker = Attacker(tmp_path)
    for seed in range(12):
        attacker.attack(seed, count=2)
    assert attacker.faults == []
    assert attacker.shown == 12 * 4
