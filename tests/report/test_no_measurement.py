"""A benchmark whose rates are no number, beside one that is one: what every face says of it."""

import json
import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.catalogue import rate_charts
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.fields import perf_of
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.history.run_points import run_point
from milabench_ddp.report.sentences import verdict
from milabench_ddp.report.sweeps.metrics import METRICS
from milabench_ddp.report.tables import TABLES
from milabench_ddp.report.tables.main_table import main_table
from milabench_ddp.table import cells_of, is_unknown
from tests.support.rates import noisy
from tests.support.result_files import config, end, rates, start, steps, write, write_state

RAMP = [1e3 * k for k in range(1, 61)]  # all work until now, as that of each step


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, values in (("dqn", RAMP), ("good", noisy(60, 0.0, 1))):
        of, timed = config(name, device=0), steps(0, [100.0] * 60)
        write(tmp_path, f"{name}.D0", of, start(), rates(values), timed, end(0, outcome="ok"))
    write_state(tmp_path, "ok", {"dqn": "ok", "good": "ok"})
    return tmp_path


def test_it_is_no_number_in_any_table_with_the_reason_beside_it(folder: Path) -> None:
    made = report_of([folder])
    cells = cells_of(main_table(made.rows))
    dqn, good = (dict(zip(cells[0], row, strict=True)) for row in cells[1:])
    shown = {name for name, text in dqn.items() if text not in ("", "-")}
    assert shown == {"benchmark", "fail", "n", "ngpu", "unit", "weight", "note"}
    assert (dqn["note"], good["note"]) == ("no steady state", "")
    assert good["perf"].startswith("100.")
    head, *lines = cells_of(TABLES["steps"](made.rows))
    by_name = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert (by_name["dqn"]["ms"], by_name["good"]["ms"]) == ("-", "100.0")


def test_it_is_in_no_score_and_the_verdict_says_so(folder: Path) -> None:
    made = report_of([folder])
    assert math.isnan(made.score.value)
    assert made.score.reason == "dqn is no measurement"
    assert "Score    none: dqn is no measurement\n" in report_text(made)
    assert verdict(made).startswith("PASS: ")
    assert verdict(made).endswith(" (1 without a rate)")
    (found,) = (each for each in made.findings if each.benchmark == "dqn")
    assert (found.name, found.place) == ("no_measurement", "dqn.D0")


def test_it_is_in_no_metric_of_a_sweep(folder: Path) -> None:
    dqn, good = report_of([folder]).rows
    of_rates = [name for name, metric in METRICS.items() if not is_unknown(metric.cell(good).value)]
    assert {"perf", "throughput", "score", "latency"} <= {*of_rates}
    for name in of_rates:
        assert is_unknown(METRICS[name].cell(dqn).value) or name.startswith("latency_"), name


def test_the_document_has_null_and_the_reason(folder: Path) -> None:
    told = json.loads(report_json(report_of([folder])))
    dqn = next(each for each in told["benchmarks"] if each["name"] == "dqn")
    assert [dqn[name] for name in ("perf", "score", "interval", "step_ms", "drift")] == [None] * 5
    assert dqn["why_no_rate"].startswith("no steady state: ")
    assert dqn["processes"][0]["perf"] is None


def test_it_is_in_no_chart_of_rates(folder: Path) -> None:
    (chart,) = rate_charts(report_of([folder]))
    assert [row[0] for row in chart.table.rows] == ["good"]


def test_a_comparison_and_a_history_tell_why_it_is_missing(folder: Path) -> None:
    side = Side.read(str(folder))
    (dqn, _) = comparison_of(side, side).benchmarks
    assert "no steady state" in str(dqn)
    point = run_point(folder)
    assert [*point.benchmarks] == ["good"]
    assert point.without_rate["dqn"].startswith("no steady state: ")


def test_an_interval_as_wide_as_its_number_is_not_shown(tmp_path: Path) -> None:
    """That of two launches is by Student's t 13 standard errors wide."""
    for name, apart in (("near", 1.1), ("far", 1.3)):
        for repeat in range(2):
            of = config(name, device=0, tag=[name, f"R{repeat}", "D0"])
            values = rates([100.0 * apart**repeat] * 9)
            write(tmp_path, f"{name}.R{repeat}.D0", of, start(), values, end(0, outcome="ok"))
    shown = {row.name: perf_of(row).text(".2f") for row in report_of([tmp_path]).rows}
    assert shown == {"near": "100 ±70", "far": "120"}
