"""What a benchmark failed for decides which finding it is."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.result_files import config, end, line, rates, start, write, write_state

RATES = rates([1.0] * 5)
NAN = line("data", {"task": "train", "loss": math.nan}, "data")


@pytest.mark.parametrize(
    ("parts", "name", "said"),
    [
        ((start(), RATES, end(1)), "failed", "failed: exit status 1"),
        ((start(), RATES), "failed", "lost: its file has no end: it was cut off"),
        ((start(), RATES, end(-9, outcome="timeout", reason="late")), "failed", "timeout: late"),
        ((start(), end(0)), "no_rate", "failed: exit status 0, but it told no rate: nothing"),
        (
            (start(), rates([-1.0]), end(0)),
            "no_rate",
            "failed: exit status 0, but it told no rate that counts",
        ),
        ((start(), RATES, NAN, end(0)), "nan_loss", "failed: the loss became NaN"),
    ],
)
@pytest.mark.parametrize("odd", [0, 3])
def test_a_failure_is_one_finding(
    tmp_path: Path, parts: tuple[str, ...], name: str, said: str, odd: int
) -> None:
    for device in range(4):
        told = parts if device == odd else (start(), RATES, end(0))
        settings = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, *told)
    (found,) = (each for each in report_of([tmp_path]).findings if each.severity == "error")
    assert (found.name, found.benchmark, found.place) == (name, "b", f"b.D{odd}")
    assert found.sentence.startswith(f"b.D{odd}: {said}")
    assert found.evidence["failures"] == 1


def test_failures_of_a_benchmark_are_one_line(tmp_path: Path) -> None:
    for device in range(8):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, start(), RATES, end(1))
    assert report_of([tmp_path]).errors == ["b.D0: failed: exit status 1 (one of 8 failures)"]


def test_the_verdict_on_all_nodes_says_more_than_that_of_the_first(tmp_path: Path) -> None:
    """Node 0 waited in vain; only both together know that rank 1 hung on node 1."""
    for node, said in enumerate(("rank 0 waits in barrier", "rank 1 hangs in main.py:3 in f")):
        settings = config("b", tag=["b", f"node{node}"])
        write(tmp_path, f"b.node{node}", settings, start(), RATES, end(1, reason=said))
    whole = "rank 1 hangs in main.py:3 in f; rank 0 waits in barrier"
    write_state(tmp_path, "failed", {"b": "failed"}, {"b": whole})
    assert report_of([tmp_path]).errors == [f"b: failed: {whole} (one of 2 failures)"]
