from itertools import combinations
from pathlib import Path

import pytest
import torch

from tests.support.programs import measured, on_ranks, program

pairs = program("pairs")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["alone", "rounds"])
def test_a_slow_link_is_found_and_measured_again(wire, schedule):
    """The planted link takes 20 ms longer for each message, one way and both ways."""
    argv = f"--schedule {schedule} --bytes 1Ki --number 2 --repeat 3 --warmup 1"
    done = on_ranks(Path(__file__).with_name("slow_link.py"), *argv.split(), ranks=3)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("among", "pairs_of"), [("across", [(0, 2), (1, 3)]), ("node", [(0, 1), (2, 3)])]
)
def test_parts_of_the_ranks_are_measured_in_rounds_and_alone(wire, among, pairs_of):
    """Two nodes of two ranks, whose names the ranks make."""
    argv = f"--among {among} --schedule both --bytes 1Ki --number 2 --repeat 2 --warmup 1 --again 1"
    script = Path(__file__).with_name("two_nodes.py")
    done = on_ranks(script, *argv.split(), ranks=4)
    assert done.returncode == 0, done.stderr
    rows = [payload["pair"] for payload in wire.close() if "pair" in payload]
    expected = []
    for first, second in pairs_of:
        expected += [(first, second, 1), (second, first, 1), (first, second, 2)]
    for schedule in ("rounds", "alone"):
        told = [row for row in rows if row["schedule"] == schedule]
        assert sorted((row["from"], row["to"], row["ways"]) for row in told) == sorted(expected)
        assert all(row["part"] == (row["from"] % 2 if among == "across" else row["from"] // 2)
                   for row in told)  # fmt: skip
    suspected = {(row["from"], row["to"]) for row in rows if row["schedule"] == "suspect"}
    assert any({pair, pair[::-1]} <= suspected for pair in pairs_of)  # the slowest, at least
    assert all(row["nodes"] == [f"n{row['from'] // 2}", f"n{row['to'] // 2}"] for row in rows)


@pytest.mark.slow
def test_one_node_has_no_pairs_between_nodes(wire):
    argv = [Path(__file__).parents[3] / "benchmarks/pairs/main.py", "--among", "across"]
    done = on_ranks(*argv, ranks=2)
    assert done.returncode
    events = [payload for payload in wire.close() if "error" in str(payload)]
    assert "--among across has no pairs: all parts have one rank" in str(events)


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
