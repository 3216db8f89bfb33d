from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.errors import SelectionError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.sweeps.settings import Cell, by_settings
from milabench_ddp.report.sweeps.sweep import Sweep, sweep_of
from tests.golden import check_golden
from tests.support.formats import sweep_csv, sweep_text
from tests.support.result_files import config, end, going_on, line, rates, start, write, write_state

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
    with going_on(sweep):
        report = report_of([sweep])
    parts = [
        sweep_text(sweep_of(report, metric)) for metric in ("throughput", "compile_s", "latency")
    ]
    check_golden("report/sweep.txt", "\n".join(parts))


def test_axes_can_be_chosen(sweep: Path):
    made = sweep_of(report_of([sweep]), "throughput", ["backend"], ["model", "batch-size"])
    (rows,) = made.blocks.values()
    assert list(rows) == [("eager",), ("inductor",)]
    assert made.columns == ("bert 4", "gpt2 4", "gpt2 -")
    assert rows["inductor",]["bert 4"].value == 2500.0


def test_csv_has_full_precision_and_the_states(sweep: Path):
    lines = sweep_csv(sweep_of(report_of([sweep]), "throughput")).splitlines()
    assert lines == ["model,eager,inductor", "bert,1234.5,2500.0", "gpt2,failed,not begun"]


@pytest.mark.parametrize(
    ("metric", "rows", "columns", "message"),
    [
        ("compile_z", (), (), r"no benchmark reports it: did you mean `compile_s`\?"),
        ("throughput", ("modle",), (), r"no benchmark has the setting modle: did you mean `model`"),
        ("throughput", ("model",), ("steps",), r"share the cell bert x 5: add a setting"),
    ],
)
def test_what_cannot_be_laid_out_is_an_error(sweep: Path, metric, rows, columns, message: str):
    with pytest.raises(SelectionError, match=message):
        sweep_of(report_of([sweep]), metric, rows, columns)


CELLS = {
    ("a", "x"): {"1": Cell(12.0, text="12"), "2": Cell(text="oom", note="no memory")},
    ("b", ""): {"2": Cell(0.93, 0.02, "why", "0.93 ±0.02")},
}


def table(*titles: str) -> Sweep:
    blocks = dict.fromkeys(titles, CELLS)
    skipped = (SkippedBenchmark("c", "it needs 8 GPUs"),)
    named = "model" if titles[0] else ""
    layout = replace(by_settings([], "m", (), ()), titles=named, corner=("first", "second"))
    layout = replace(layout, between=" ")
    return Sweep("m", "a metric", layout, ("1", "2"), blocks, skipped)


def test_one_block() -> None:
    assert sweep_text(table("")).splitlines() == [
        "m: a metric",
        "",
        "first second   1               2",
        "------------  --  --------------",
        "a x           12         oom [1]",
        "b              -  0.93 ±0.02 [2]",
        "",
        "[1] no memory",
        "[2] why",
        "",
        "skipped: c: it needs 8 GPUs",
    ]


def test_a_note_has_one_number_in_all_blocks() -> None:
    lines = sweep_text(table("one", "two")).splitlines()
    assert [line for line in lines if line.endswith(":")] == ["one:", "two:"]
    assert sum("oom [1]" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("[")] == ["[1] no memory", "[2] why"]


def test_csv() -> None:
    assert sweep_csv(table("")).splitlines() == [
        "first,second,1,1_spread,2,2_spread",
        "a,x,12.0,,oom,",
        "b,,-,,0.93,0.02",
    ]
    assert sweep_csv(table("one", "two")).splitlines()[3] == "two,a,x,12.0,,oom,"


def test_a_value_of_some_launches_says_so(tmp_path: Path) -> None:
    """One of two launches failed: the value is that of both, and a note says so."""
    for repeat, code in ((0, 0), (1, 3)):
        tag = ["b", f"R{repeat}", "D0"]
        ended = end(code, outcome="failed" if code else "ok", reason="exit status 3")
        write(tmp_path, ".".join(tag), config("b", device=0, tag=tag), start(), rates([4.0]), ended)
    made = sweep_text(sweep_of(report_of([tmp_path]), "throughput"))
    assert "b          4 [1]\n" in made
    assert "[1] 1 of 2 launches did not end ok: failed: exit status 3\n" in made


def test_benchmarks_that_are_skipped_for_one_reason_share_a_line() -> None:
    why = "disabled by the preset small"
    skipped = [SkippedBenchmark(f"b{k}", f"{why} (config/ddp.yaml:{k})") for k in range(5)]
    made = replace(table(""), skipped=(*skipped, SkippedBenchmark("c", "it needs 8 GPUs")))
    assert sweep_text(made).splitlines()[-2:] == [
        f"skipped: b0, b1, b2 and 2 more: {why}",
        "skipped: c: it needs 8 GPUs",
    ]
