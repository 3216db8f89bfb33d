"""The text as a user reads it: golden files of made-up runs."""

from contextlib import chdir
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables import REPORT_TABLES, TABLES
from tests.golden import check_golden
from tests.support.formats import table_text
from tests.support.rates import noisy
from tests.support.reported_runs import write_rich
from tests.support.result_files import (
    RECORDED,
    TORCHRUN,
    config,
    end,
    going_on,
    line,
    rates,
    sample,
    start,
    write,
    write_state,
)

GPU = {
    "cpu": {"count": 96, "brand": "AMD EPYC 9654"},
    "os": {"nodename": "node7"},
    "accelerators": {
        "arch": "cuda",
        "gpus": {str(k): {"product": "NVIDIA H200", "memory": {"total": 143771}} for k in range(2)},
    },
    "pytorch": {"torch": "2.15.0+cu132"},
}
CPU = {**GPU, "accelerators": {"arch": "cpu", "gpus": {}}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change into a new folder, so that the text has no path of this machine."""
    monkeypatch.chdir(tmp_path)
    return Path("runs")


def gpu_process(folder: Path, name: str, device: int, seed: int, level: float) -> None:
    settings = config(name, device=device, devices=[device], tag=[name, f"D{device}"], arch="cuda")
    values = noisy(40, 0.2, seed, level)
    values[0] *= 0.4
    ok = end(0, 1060.0, outcome="ok", reason="")
    used = sample(**{f"d{device}": (41000.0 + seed, 0.97)})
    write(
        folder,
        f"{name}.D{device}",
        settings,
        line("meta", GPU),
        start(),
        rates([0.3 * level], warmup=True, units="images/s"),
        rates(values, units="images/s"),
        used,
        ok,
    )


def test_a_run_with_a_failure(here: Path) -> None:
    run = here / "monday"
    states = {"resnet50": "ok", "resnet50-ddp": "failed", "vit": "timeout", "t5": "waiting"}
    skipped = [SkippedBenchmark("llama", "it needs 8 GPUs, and there are 2")]
    write_state(run, "failed", states, skipped=skipped)
    for device in (0, 1):
        gpu_process(run, "resnet50", device, device + 1, 1100.0 + device)
    njobs = {"plan": {"method": "njobs", "n": 1}, "devices": [0, 1], "weight": 2.0}
    failed = end(1, 1100.0, outcome="failed", reason="rank 1: ValueError: rank one is bad")
    said = {"type": "ValueError", "message": "rank one is bad", "rank": 1, "trace": ""}
    write(
        run,
        "resnet50-ddp.0",
        config("resnet50-ddp", tag=["resnet50-ddp", "0"], **njobs),
        start(1060.0),
        line("error", said, "data"),
        failed,
        stderr="\n".join(TORCHRUN),
    )
    timeout = end(-15, 1190.0, outcome="timeout", reason="it took longer than 90 s")
    steps = rates(noisy(12, 0.0, 4, 50.0), units="images/s")
    write(run, "vit.0", config("vit", **njobs), start(1100.0), steps, timeout, "{cut")
    check_golden("report/failed.txt", report_text(report_of([run])))


def test_a_run_on_a_cpu_that_is_still_going_on(here: Path) -> None:
    run = here / "tuesday"
    states = {"flops": "ok", "resnet50": "running", "vit": "waiting"}
    write_state(run, None, states, preset="small")
    ok = end(0, outcome="ok", reason="")
    steps = rates(noisy(30, 0.0, 4, 0.2), units="TFLOP/s")
    write(run, "flops.D0", config("flops", device=0), line("meta", CPU), start(), steps, ok)
    write(run, "resnet50.D0", config("resnet50", device=0), start())
    with going_on(run, "resnet50"):
        check_golden("report/running.txt", report_text(report_of([run])))


def test_milabenchs_formulas(here: Path) -> None:
    for name in ("rijubigo", "sedumoje"):
        Path(name).symlink_to(RECORDED / "milabench" / name)
    runs = [Path("rijubigo"), Path("sedumoje")]
    check_golden(
        "report/compat.txt",
        report_text(report_of(runs, compat_formulas=True, weights={"benchio": 2.0})),
    )


def test_a_run_of_which_nothing_is_known(here: Path) -> None:
    here.mkdir()
    (here / "run.json").touch()
    said = report_text(report_of([here])).split("\n")
    assert said[:3] == ["FAIL: nothing was measured", "Run      runs", ""]
    assert said[3].startswith("warning  runs/run.json: is not a state that this version can read")
    assert said[-2:] == ["         --table findings", ""]


def test_plain_text_has_no_escapes(here: Path) -> None:
    red = "\x1b[31mValueError\x1b[0m\n"
    write(here / "r", "b", config("b"), start(), end(1), stderr=red)
    made = report_text(report_of([here / "r"]))
    assert "    ValueError\n" in made
    assert "\x1b" not in made


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Report:
    with chdir(tmp_path_factory.mktemp("rich")):
        write_rich(Path("runs/monday"))
        return report_of([Path("runs/monday")])


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_report_in_sixty_seconds(rich: Report, width: int) -> None:
    """Findings, failures, a sweep, what was not run; a name and sentences that are too long."""
    check_golden(f"report/rich_{width}.txt", report_text(rich, width))


@pytest.mark.parametrize("width", [80, 140])
def test_the_recorded_run(here: Path, width: int) -> None:
    """The README shows it at 100."""
    here.mkdir()
    (here / "first").symlink_to(RECORDED / "first")
    check_golden(f"report/first_{width}.txt", report_text(report_of([here / "first"]), width))


def test_tables_on_demand_fit_and_have_all_their_columns(rich: Report) -> None:
    tables = [make(rich.rows) for make in TABLES.values()]
    tables += [make(rich) for make in REPORT_TABLES.values()]
    for table in filter(None, tables):
        text = table_text(table, 80)
        assert max(map(len, text.splitlines())) <= 80
        for column in table.columns:
            assert column.name in text


def test_the_tables_that_have_something_to_tell_are_named(rich: Report) -> None:
    *_, names = report_text(rich, 1000).splitlines()
    assert names.strip().startswith("--table steps, strategies, stragglers, ranks, ")
    assert "speedup" not in names
    assert names.endswith(", findings")


def test_a_sweep_of_one_axis_is_a_list_and_of_two_a_block(rich: Report) -> None:
    assert "Throughput of models" in report_text(rich)
    one = [row for row in rich.rows if "eager" not in row.name]
    assert "Throughput of models" not in report_text(replace(rich, rows=tuple(one)))
