import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Row
from milabench_ddp.report.process import ProcessResult
from milabench_ddp.report.summary import summary_row
from milabench_ddp.report.tables.main_table import main_table
from milabench_ddp.results.read_run import read_run
from milabench_ddp.table import text_lines
from tests.support.rates import noisy
from tests.support.result_files import config, end, job, line, rate, rates, sample, start, write


def measured(*folders: Path, weight: float | None = None, missing: int = 0) -> Row:
    runs = [read_run(folder) for folder in folders]
    processes = [ProcessResult(run, record) for run in runs for record in run.records]
    return summary_row(processes, weight, missing)


@pytest.mark.parametrize("mark", [True, 1, "true"])
def test_warm_up_is_left_out_marked_or_detected(tmp_path: Path, mark: object) -> None:
    steady = noisy(60, 0.2, 1)
    write(
        tmp_path,
        "b.D0",
        config("b", device=0),
        start(),
        rates([1.0, 2.0, 3.0], warmup=mark),
        rates([40.0, 60.0, 80.0]),
        rates(steady),
        end(),
    )
    made = measured(tmp_path)
    assert made.perf == pytest.approx(100, abs=0.5)
    assert made.std == pytest.approx(0.01, abs=0.004)
    assert 0 < made.sem < 0.005
    assert made.warmup_marked == 3
    assert made.warmup_detected >= 3
    low, high = made.interval
    assert low < made.perf < high


def test_an_observation_counts_as_long_as_it_took(tmp_path: Path) -> None:
    """30 steps at 10 steps/s take 3 s, 5 at 5 steps/s take 1 s: 35 steps of 2 items in 4 s.

    If the steps are not known, both are for the same work: 40 items in 1 s + 2 s.
    """
    known = rate(20.0, steps=30), rate(10.0, steps=5)
    write(tmp_path / "known", "b", config("b"), start(), *known, end())
    assert measured(tmp_path / "known").perf == pytest.approx(70 / 4)
    partly = rate(20.0, steps=30), rate(10.0)
    write(tmp_path / "partly", "b", config("b"), start(), *partly, end())
    assert measured(tmp_path / "partly").perf == pytest.approx(40 / 3)


def test_processes_count_alike_and_devices_are_added_up(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([10.0]), end())
    write(tmp_path, "b.D1", config("b", device=1), start(), rates([30.0] * 5), end())
    again = config("b", device=1, tag=["b", "R1", "D1"])
    write(tmp_path, "b.R1.D1", again, start(), rates([50.0] * 5), end())
    made = measured(tmp_path)
    assert made.perf == pytest.approx(30.0)
    assert made.score == pytest.approx(10 + 40)
    assert (made.n, made.ngpu, made.unit) == (3, 1, "items/s")


def test_failures_take_their_share_of_the_score(tmp_path: Path) -> None:
    ok = end(0, outcome="ok")
    write(tmp_path, "b.0", job("b", tag=["b", "0"]), start(), rates([10.0] * 3), ok)
    failed = end(1, outcome="failed", reason="exit status 1")
    write(tmp_path, "b.1", job("b", tag=["b", "1"]), start(), rates([10.0] * 3), failed)
    made = measured(tmp_path)
    assert (made.fail, made.score) == (1, 10.0)
    assert [process.status for process in made.processes] == ["ok", "failed"]
    assert (measured(tmp_path, missing=1).fail, measured(tmp_path, missing=1).score) == (2, 5.0)
    assert measured(tmp_path, missing=5).score == 0.0


@pytest.mark.parametrize("bad", [None, "fast", math.nan, math.inf, True])
def test_damaged_rates_are_left_out(tmp_path: Path, bad: object) -> None:
    write(tmp_path, "b", config("b"), start(), rates([4.0, bad, 6.0]), end())
    assert measured(tmp_path).perf == pytest.approx(2 / (1 / 4 + 1 / 6))


def test_nothing_measured(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b"), start(), rates([4.0], warmup=True), end())
    made = measured(tmp_path)
    assert all(map(math.isnan, (made.perf, made.sem, made.std, made.peak_memory, made.score)))
    assert made.interval is None


def test_one_observation_has_no_spread(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b"), start(), rates([4.0]), end())
    made = measured(tmp_path)
    assert (made.perf, made.interval) == (4.0, None)
    assert math.isnan(made.sem)
    assert math.isnan(made.std)
    (head, line) = (
        [cell.strip() for cell in line.split("|")] for line in text_lines(main_table([made]))
    )
    shown = dict(zip(head, line, strict=False))
    assert [shown[name] for name in ("perf", "std%", "sem%")] == ["4.00", "-", "-"]


def test_peak_memory_is_the_greatest_sample_of_its_own_device(tmp_path: Path) -> None:
    samples = [sample(d0=(float(used), 0.5), d1=(9e9, 0.5)) for used in (10, 60, 20, 30, 40, 50)]
    idle = sample(d0=(7000.0, 0.0))
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([1.0]), *samples, idle, end())
    made = measured(tmp_path)
    assert (made.peak_memory, made.peak_memory_source) == (60.0, "device")


def test_peak_memory_by_the_program_where_no_device_was_sampled(tmp_path: Path) -> None:
    said = [
        line("data", {"task": "main", "memory_peak": [90.0 * r, 100.0 * r], "rank": r}, "data")
        for r in (1, 2)
    ]
    write(tmp_path, "b.0", config("b"), start(), rates([1.0]), *said, end())
    made = measured(tmp_path)
    assert (made.peak_memory, made.peak_memory_source) == (200.0, "program")


def test_the_weight_that_is_given_wins(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b", weight=3.0, enabled=False), start(), rates([1.0]), end())
    recorded, given_ = measured(tmp_path), measured(tmp_path, weight=0.5)
    assert (recorded.weight, recorded.enabled) == (3.0, False)
    assert (given_.weight, given_.enabled) == (0.5, True)


@settings(max_examples=20)
@given(
    st.lists(st.lists(st.floats(1, 1000), max_size=12), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_the_order_of_files_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, series: list[list[float]], draw: object
) -> None:
    names = [f"b.{k}" for k in range(len(series))]
    draw.shuffle(names)  # type: ignore[attr-defined]
    folders = [tmp_path_factory.mktemp("run") for _ in range(2)]
    for folder, tags in zip(folders, (sorted(names), names), strict=True):
        for tag, values in zip(tags, series, strict=True):
            write(folder, tag, config("b"), start(), rates(values), end())
    one, other = (measured(folder) for folder in folders)
    for column in ("fail", "n", "perf", "sem", "std", "score"):
        ours, theirs = getattr(one, column), getattr(other, column)
        assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


def test_devices_of_two_nodes_are_two_devices(tmp_path: Path) -> None:
    for node in ("node1", "node2"):
        tagged = config("b", device=0, tag=["b", "D0", node])
        write(tmp_path, f"b.D0.{node}", tagged, start(), rates([10.0] * 5), end())
    made = measured(tmp_path)
    assert (made.perf, made.score) == (10.0, 20.0)


def test_a_process_alone_on_its_device_has_one_on_any_number_of_nodes(tmp_path: Path) -> None:
    tagged = config("b", device=3, devices=[3], num_machines=2, tag=["b", "D3", "node1"])
    write(tmp_path, "b.D3.node1", tagged, start(), rates([10.0] * 5), end())
    assert measured(tmp_path).ngpu == 1


def test_it_says_what_its_interval_holds(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.R0.D0",
        config("b", tag=["b", "R0", "D0"]),
        start(),
        rates([9.0, 11.0] * 30),
        end(),
    )
    alone = measured(tmp_path)
    assert alone.interval_holds == "the mean rate within this launch"
    write(
        tmp_path,
        "b.R1.D0",
        config("b", tag=["b", "R1", "D0"]),
        start(),
        rates([9.0, 11.0] * 30),
        end(),
    )
    assert measured(tmp_path).interval_holds == "the mean rate over 2 launches"
    write(tmp_path / "one", "b.D0", config("b"), start(), rates([9.0, 11.0] * 20), end())
    assert measured(tmp_path / "one").interval_holds is None


def test_memory_that_is_not_known_has_no_source(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([1.0] * 9), end())
    (row,) = report_of([tmp_path]).rows
    assert row.peak_memory_source is None
