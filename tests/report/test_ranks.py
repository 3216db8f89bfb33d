from pathlib import Path

from milabench_ddp.report.build import report_of
from milabench_ddp.report.ranks import every_rank, ranks
from tests.support.result_files import config, end, job, parts, start, steps, told, write


def test_the_slowest_the_fastest_and_the_one_with_most_own_work(tmp_path: Path) -> None:
    of = [parts(rank, forward=ms, optimizer=5.0, data=5.0) for rank, ms in enumerate((40, 50, 42))]
    timed = [steps(rank, [100.0 + rank] * 3) for rank in range(3)]
    model = told(model={"mode": "ddp"})
    write(tmp_path, "b.0", job("b", 3), start(), model, *of, *timed, end())
    rows = report_of([tmp_path]).rows
    assert ranks(rows).rows == (
        ("b", 3, 102.0, "rank 2", 100.0, "rank 0", 60.0, "rank 1", 60.0 / 51.0 - 1, "forward"),
    )
    assert [line[1:5] for line in every_rank(rows).rows] == [
        (f"rank {k}", "", 3, 100.0 + k) for k in range(3)
    ]


def test_what_cannot_be_compared_is_left_out(tmp_path: Path) -> None:
    """One rank alone; devices that each multiply the shape that they found best."""
    write(tmp_path, "one.0", job("one", 1), start(), steps(0, [1.0]), end())
    for device in range(2):
        tag = ["f", f"D{device}"]
        tried = told(sweep={"m": 1, "n": 1, "k": 1, "tflop_s": 1.0})
        settings = config("f", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), tried, steps(0, [1.0 + device]), end())
    assert not ranks(report_of([tmp_path]).rows)
