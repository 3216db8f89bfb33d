from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.rank_tables import ranks as every_rank
from milabench_ddp.report.tables.rank_tables import stragglers as slowest_ranks
from tests.support.result_files import config, end, job, start, steps, told, write
from tests.support.trained_ranks import trained as job_of


def test_the_slowest_the_fastest_and_the_one_with_most_own_work(tmp_path: Path) -> None:
    timed = []
    for rank, forward in enumerate((40.0, 60.0, 42.0)):
        parts = {"forward": [forward] * 16, "optimizer": [5.0] * 16}
        timed.append(steps(rank, [100.0 + rank] * 16, [5.0] * 16, parts=parts))
    model = told(model={"mode": "ddp"})
    write(tmp_path, "b.0", job("b", 3), start(), model, *timed, end())
    rows = report_of([tmp_path]).rows
    assert slowest_ranks(rows).rows == (
        ("b", 3, 102.0, "rank 2", 100.0, "rank 0", 70.0, "rank 1", 70.0 / 51.0 - 1, "forward"),
    )
    assert [line[1:5] for line in every_rank(rows).rows] == [
        (f"rank {k}", None, 16, 100.0 + k) for k in range(3)
    ]


def test_each_slow_rank_has_a_line(tmp_path: Path) -> None:
    job_of(4, noise=0.02, slow={1: {"backward": 1.3}, 3: {"backward": 1.6}}).write(tmp_path)
    lines = slowest_ranks(report_of([tmp_path]).rows).rows
    assert [(line[7], line[9]) for line in lines] == [
        ("rank 3", "backward"),
        ("rank 1", "backward"),
    ]
    assert [line[8] for line in lines] == pytest.approx([0.3, 0.15], abs=0.02)


def test_a_rank_that_is_slow_in_a_half_has_it_in_its_line(tmp_path: Path) -> None:
    job = job_of(4, noise=0.02)
    job.parts["backward"][2, 60:] *= 1.6
    job.write(tmp_path)
    (line,) = slowest_ranks(report_of([tmp_path]).rows).rows
    assert line[7:] == ("rank 2", pytest.approx(0.3, abs=0.02), "backward in the second half")


def test_what_cannot_be_compared_is_left_out(tmp_path: Path) -> None:
    """A single rank is left out, and so are devices that each run their own best shape."""
    write(tmp_path, "one.0", job("one", 1), start(), steps(0, [1.0]), end())
    for device in range(2):
        tag = ["f", f"D{device}"]
        tried = told(sweep={"m": 1, "n": 1, "k": 1, "tflop_s": 1.0})
        settings = config("f", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), tried, steps(0, [1.0 + device]), end())
    assert not slowest_ranks(report_of([tmp_path]).rows)
