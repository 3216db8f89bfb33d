"""Some of the attacks of ``tests/fuzz/broken_runs.py``, which makes 10,000 of them."""

from pathlib import Path

from tests.fuzz.broken_runs import Attacker


def test_no_broken_run_makes_a_report_fail(tmp_path: Path) -> None:
    attacker = Attacker(tmp_path)
    for seed in range(12):
        attacker.attack(seed, count=2)
    assert attacker.faults == []
    assert attacker.shown == 12 * 4
