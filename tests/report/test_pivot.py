from pathlib import Path

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.build import report_of
from milabench_ddp.report.pivot import pivot
from milabench_ddp.report.pivot_text import pivot_csv, pivot_text
from milabench_ddp.results.run_dir import alive
from tests.golden import check_golden
from tests.support.result_files import config, end, line, rates, start, write, write_state

MODELS, BACKENDS = ("bert", "gpt2"), ("eager", "inductor")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two models with two backends: one fails, one has not run yet."""
    run = tmp_path / "sweep"
    states = {"bert-eager": "ok", "bert-inductor": "ok", "gpt2-eager": "failed"}
    waiting = {"gpt2-inductor": {"matrix": {"model": "gpt2", "backend": "inductor", "steps": 5}}}
    write_state(run, None, {**states, "gpt2-inductor": "waiting"}, suite=waiting)
    for name in states:
        model, backend = name.split("-")
        point = {"model": model, "backend": backend, "steps": 5}
        told = {"compile_s": 12.5 if backend == "inductor" else 0.0, "step_ms": 8.25}
        facts = line("data", {"task": "main", "model": told, "rank": 0}, "data")
        of = config(name, matrix=point, argv={"--batch-size": 4})
        if states[name] == "ok":
            measured = rates([1234.5] * 10 if backend == "eager" else [2500.0] * 10)
            write(run, f"{name}.D0", of, start(), measured, facts, end(0, outcome="ok"))
        else:
            ended = end(1, outcome="failed", reason="exit status 1")
            write(run, f"{name}.D0", of, start(), ended)
    return run


def test_golden(sweep: Path):
    with alive(sweep):
        report = report_of([sweep])
    parts = [pivot_text(pivot(report, metric)) for metric in ("throughput", "compile_s", "latency")]
    check_golden("report/pivot.txt", "\n".join(parts))


def test_axes_can_be_chosen(sweep: Path):
    made = pivot(report_of([sweep]), "throughput", ["backend"], ["model", "batch-size"])
    (block,) = made.blocks
    assert block.rows == (("eager",), ("inductor",))
    assert made.columns == ("bert 4", "gpt2 4", "gpt2 -")
    assert block.cells[("inductor",), "bert 4"].value == 2500.0


def test_csv_has_full_precision_and_the_states(sweep: Path):
    lines = pivot_csv(pivot(report_of([sweep]), "throughput")).splitlines()
    assert lines == ["model,eager,inductor", "bert,1234.5,2500.0", "gpt2,failed,lost"]


@pytest.mark.parametrize(
    ("metric", "rows", "columns", "message"),
    [
        ("compile_z", (), (), r"no benchmark tells it: did you mean `compile_s`\?"),
        ("throughput", ("modle",), (), r"no benchmark has the setting modle: did you mean `model`"),
        ("throughput", ("model",), ("steps",), r"share the cell bert x 5: add a setting"),
    ],
)
def test_what_cannot_be_laid_out_is_an_error(sweep: Path, metric, rows, columns, message: str):
    with pytest.raises(SelectionError, match=message):
        pivot(report_of([sweep]), metric, rows, columns)
