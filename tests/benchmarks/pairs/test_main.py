from itertools import combinations
from pathlib import Path

import pytest
import torch

from tests.support.programs import measured, program, torchrun

pairs = program("pairs")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["alone", "rounds"])
def test_a_slow_link_is_found_and_measured_again(wire, schedule):
    """The planted link takes 20 ms longer for each message, one way and both ways."""
    argv = f"--schedule {schedule} --bytes 1Ki --number 2 --repeat 3 --warmup 1"
    done = torchrun(Path(__file__).with_name("slow_link.py"), *argv.split(), ranks=3)
    assert done.returncode == 0, done.stderr
    payloads = wire.close()
    rows = {(p["pair"]["from"], p["pair"]["to"], p["pair"]["ways"]): p["pair"]
            for p in payloads if "pair" in p}  # fmt: skip
    expected = []
    for first, second in combinations(range(3), 2):
        expected += [(first, second, 1), (second, first, 1), (first, second, 2)]
    assert sorted(rows) == sorted(expected)
    bound = 1024 / 0.02 / 1e9
    slow = {key for key, row in rows.items() if row["best_gb_s"] <= bound * key[2]}
    assert slow >= {(1, 2, 1), (1, 2, 2)}
    assert all(row["gb_s"] <= row["best_gb_s"] for row in rows.values())
    assert rows[1, 2, 1]["measurements"] == 3
    rates = [p["rate"] for p in measured(payloads)]
    assert len(rates) == 3
    assert min(rates) <= bound


def test_one_rank_is_no_pair(wire, capsys):
    with pytest.raises(SystemExit) as end:
        pairs.main(["--device", "cpu"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: a pair needs two ranks: use torchrun\n"


@pytest.mark.parametrize("size", [1, 251, 1000])
def test_other_data_is_seen(size):
    device = torch.device("cpu")
    pairs.check(pairs.message(2, size, device), 2, 0)
    for wrong in (pairs.message(3, size, device), torch.full((size,), 255, dtype=torch.uint8)):
        with pytest.raises(RuntimeError, match="rank 0 received other data than rank 2 sent"):
            pairs.check(wrong, 2, 0)
