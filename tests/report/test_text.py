"""The text as a user reads it: golden files of made-up runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Finding, Report, Row, Severity
from milabench_ddp.report.tables.main_table import main_table
from milabench_ddp.report.text import MOST_ALIKE, report_text
from milabench_ddp.table import text_lines
from tests.golden import check_golden
from tests.support.rates import noisy
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


def test_a_run_that_has_only_just_been_made(here: Path) -> None:
    here.mkdir()
    (here / "run.json").touch()
    assert report_text(report_of([here])).split("\n")[:3] == [
        "Run      runs",
        "",
        "Nothing was measured.",
    ]


def test_the_table_stays_in_line_whatever_is_in_it() -> None:
    rows = [
        Row("a", 0, 1, 8, 1.5e12, 0.5, 12.0, 143771, 1.5e13, 1, unit="tokens/s"),
        Row("a-very-long-name-of-a-benchmark", NAN, NAN, 0, NAN, NAN, NAN, NAN, NAN, 100),
    ]
    lines = list(text_lines(main_table(rows)))
    bars = [[k for k, c in enumerate(line) if c == "|"] for line in lines]
    assert bars[0] == bars[1]
    assert bars[2] == bars[0][: len(bars[2])]


@pytest.mark.parametrize(
    ("value", "ours", "milabenchs"),
    [
        (0.0283, "0.0283", "0.03"),
        (0.2, "0.200", "0.20"),
        (0.99999, "1.00", "1.00"),
        (1.0, "1.00", "1.00"),
        (0.0, "0.00", "0.00"),
        (NAN, "-", "nan"),
    ],
)
def test_a_small_rate_has_three_digits(value: float, ours: str, milabenchs: str) -> None:
    row = Row("a", 0, 1, 1, value, 0.0, 0.0, NAN, value, 1)
    for compat, said in ((False, ours), (True, milabenchs)):
        cells = list(text_lines(main_table([row], compat=compat)))[1].split("|")
        assert (cells[4].strip(), cells[8].strip()) == (said, said)


def test_many_that_were_skipped_for_one_reason_share_a_line(here: Path) -> None:
    skipped = [SkippedBenchmark(f"s{k}", "not selected by --select") for k in range(6)]
    skipped.insert(3, SkippedBenchmark("other", "disabled (x.yaml:2)"))
    for count, shown in (
        (7, ["6 (s0, s1, s2, ...): not selected by --select", "other: disabled (x.yaml:2)"]),
        (3, [f"s{k}: not selected by --select" for k in range(3)]),
    ):
        write_state(here, "ok", {}, skipped=skipped[:count])
        lines = report_text(report_of([here])).splitlines()
        at = lines.index("Skipped") + 2
        assert lines[at : at + len(shown)] == shown
        assert lines[at + len(shown) :] == []


def test_findings_stand_first_with_what_to_do_and_are_cut_where_many_are_alike() -> None:
    broken = Finding("GPU 3 is lost", name="lost", severity=Severity.ERROR, advice="see dmesg")
    slow = [Finding(f"w{k}", name="slow", advice="look") for k in range(MOST_ALIKE + 3)]
    other = Finding("last", name="other")
    noted = Finding("as planned", severity=Severity.NOTE, advice="not told")
    rows = (Row.unmeasured("b", 0, 1.0, {}),)
    made = report_text(Report(False, (), rows, findings=(broken, *slow, other, noted)))
    assert made.split("\n\nbench")[0].splitlines() == [
        "Findings: 1 error, 9 warnings, 1 note (below the tables)",
        "  error    GPU 3 is lost",
        "           -> see dmesg",
        *[f"  warning  w{k}" for k in range(MOST_ALIKE)],
        "           ... and 3 more like these: --table findings has all",
        "           -> look",
        "  warning  last",
    ]
    assert "\nNotes\n-----\nas planned\n" in made
    assert report_text(Report(False, (), rows)).startswith("Findings: none\n\nbench")


def test_plain_text_has_no_escapes(here: Path) -> None:
    red = "\x1b[31mValueError\x1b[0m\n"
    write(here / "r", "b", config("b"), start(), end(1), stderr=red)
    made = report_text(report_of([here / "r"]))
    assert "    ValueError\n" in made
    assert "\x1b" not in made


@pytest.mark.parametrize(
    ("error", "shown"),
    [(0.0, "0.0%"), (0.02, "2.0%"), (0.0005, "0.1%"), (0.0004, "0.04%"), (1e-9, "<0.0001%")],
)
def test_an_uncertainty_that_is_known_is_not_shown_as_0(error: float, shown: str) -> None:
    row = replace(Row.unmeasured("b", 0, 1.0, {}), perf=1.0, sem=error)
    *_, line = text_lines(main_table([row]))
    assert line.split("|")[5].strip() == shown
    *_, line = text_lines(main_table([row], compat=True))
    assert line.split("|")[5].strip() == f"{error:.1%}"
