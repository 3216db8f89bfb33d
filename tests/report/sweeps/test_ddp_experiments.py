from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Report, Row
from milabench_ddp.report.sweeps.ddp_experiments import breaks, fits
from milabench_ddp.report.sweeps.sweep import sweep_of
from tests.golden import check_golden
from tests.support.formats import sweep_csv, sweep_text
from tests.support.result_files import going_on
from tests.support.sweep_of_models import make


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    run = make(tmp_path_factory.mktemp("base") / "sweep")
    with going_on(run, "resnet50-inductor-without-4"):
        return report_of([run])


@pytest.mark.parametrize("metric", ["latency", "throughput", "efficiency", "memory", "mfu"])
def test_golden(report: Report, metric: str) -> None:
    check_golden(f"report/sweep_{metric}.txt", sweep_text(sweep_of(report, metric)))


@pytest.mark.parametrize("metric", ["latency", "efficiency"])
def test_golden_csv(report: Report, metric: str) -> None:
    check_golden(f"report/sweep_{metric}.csv", sweep_csv(sweep_of(report, metric)))


def test_axes_that_are_asked_for_win(report: Report) -> None:
    asked = ["nodes", "breaks"], ["backend", "model"]
    made = sweep_of(report, "latency", *asked)
    assert (made.layout.corner, made.layout.titles) == (("nodes", "breaks"), "")
    assert made.columns[:2] == ("eager hf_T5", "inductor hf_T5")


def point(name: str = "b", machines: int = 1, argv: Any = None, **matrix: Any) -> Row:
    config = {"matrix": matrix, "num_machines": machines, "argv": argv or {}, "group": "g"}
    return Row(name, 0, 1, 1, 5.0, NAN, NAN, NAN, 5.0, 1.0, config=config)


@pytest.mark.parametrize(
    ("table", "yes"),
    [
        ([point(nodes=1, backend="eager")], True),
        ([point(nodes=1, breaks="with")], True),
        ([point(machines=1, backend="eager"), point(machines=2, backend="eager")], True),
        ([point(backend="eager"), point(backend="inductor")], False),
        ([point(nodes=1), point(nodes=2)], False),
        ([], False),
    ],
)
def test_which_sweeps_have_this_layout(table: list[Row], yes: bool) -> None:
    assert fits(table) is yes


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (point(breaks="with"), "w/breaks"),
        (point(breaks=True), "w/breaks"),
        (point(breaks="no_optimization"), "wo/breaks"),
        (point(argv={"--optimize-ddp": "ddp_optimizer"}), "w/breaks"),
        (point(breaks="python_reducer"), "python_reducer"),
        (point(), ""),
    ],
)
def test_breaks(row: Row, said: str) -> None:
    assert breaks(row) == said


def test_other_settings_join_the_model() -> None:
    rows = tuple(
        point(f"b{nodes}{batch}", nodes=nodes, backend="eager", batch=batch, model="m")
        for nodes in (16, 2)
        for batch in (4, 8)
    )
    made = sweep_of(Report(False, (), rows), "throughput")
    assert list(made.blocks) == ["m, batch 4", "m, batch 8"]
    assert made.columns == ("2_throughput", "16_throughput")
    assert list(made.blocks["m, batch 4"]) == [("eager", "")]
