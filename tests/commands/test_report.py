import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands.final_report import show, shown_width
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    going_on,
    line,
    rates,
    start,
    write,
    write_state,
)

FIRST = RECORDED / "first"
RIJUBIGO = RECORDED / "milabench" / "rijubigo"


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    heads = {}
    for format in ("text", "csv", "json"):
        assert main(["report", str(RIJUBIGO), "--compat", "--format", format]) == 0
        heads[format] = capsys.readouterr().out
    assert heads["text"].startswith("Run      ")
    assert heads["csv"].startswith("benchmark,fail,n,")
    assert json.loads(heads["json"])["compat"] is True


MEASURED, FAILS = (start(), rates([1.0] * 5), end(0, outcome="ok")), (start(), rates([1.0]), end(1))


@pytest.mark.parametrize(
    ("outcome", "parts", "code"),
    [
        ("ok", MEASURED, 0),
        ("failed", FAILS, 1),
        ("failed", MEASURED, 1),  # what failed left no file
        ("ok", (start(), rates([1.0], warmup=True), end(0, outcome="ok")), 1),
        ("ok", (start(), end(0, outcome="ok")), 1),
        ("cancelled", MEASURED, 130),
    ],
)
def test_the_exit_code_is_that_of_the_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    outcome: str,
    parts: tuple[str, ...],
    code: int,
) -> None:
    """In every format; ``watch`` of a run that has ended is its report."""
    write_state(tmp_path, outcome, {"b": outcome})
    write(tmp_path, "b.D0", config("b"), *parts)
    run = str(tmp_path)
    assert show(tmp_path, io.StringIO()) == code
    for words in (["--csv"], ["--format", "json"], ["--table", "throughput"]):
        assert main(["report", run, *words]) == code, words
    capsys.readouterr()
    assert main(["report", run]) == main(["watch", run]) == code
    assert ("PASS" in capsys.readouterr().out) is (code == 0)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("cancelled", "CANCELLED: 1 of 1 benchmark ok"),
        (None, "FAIL: 1 of 1 benchmark ok, but the run was lost"),
    ],
)
def test_a_run_that_was_stopped_after_its_last_benchmark(
    tmp_path: Path, outcome: str | None, verdict: str
) -> None:
    write_state(tmp_path, outcome, {"b": "ok"})
    write(tmp_path, "b.D0", config("b"), *MEASURED)
    out = io.StringIO()
    assert show(tmp_path, out) != 0
    assert out.getvalue().startswith(f"{verdict}\n")


def test_a_run_that_goes_on_or_has_no_file_has_not_passed(tmp_path: Path) -> None:
    write_state(tmp_path, None, {"b": "running"})
    write(tmp_path, "b.D0", config("b"), start(), rates([1.0] * 5))
    out = io.StringIO()
    with going_on(tmp_path, "b"):
        assert show(tmp_path, out) == 1
    assert "none yet: the run goes on; 0 of 1 benchmark ok, none failed so far\n" in out.getvalue()
    write_state(tmp_path / "empty", "ok", {})
    out = io.StringIO()
    assert show(tmp_path / "empty", out) == 1
    assert "FAIL: nothing was measured\n" in out.getvalue()


def test_several_runs_have_the_code_of_the_worst(tmp_path: Path) -> None:
    for name, outcome, parts in (("a", "ok", MEASURED), ("b", "failed", FAILS)):
        write_state(tmp_path / name, outcome, {name: outcome})
        write(tmp_path / name, f"{name}.D0", config(name), *parts)
    both = [str(tmp_path / name) for name in "ab"]
    assert [main(["report", *runs]) for runs in (both[:1], both[1:], both)] == [0, 1, 1]


def test_a_folder_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(RIJUBIGO.parent / "rijubogo")]) == 2
    assert "did you mean `rijubigo`" in capsys.readouterr().err


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["report", *words])
    return code, *capsys.readouterr()


def test_csv_for_short(capsys: pytest.CaptureFixture[str]) -> None:
    short, long = (shown(capsys, str(FIRST), *w) for w in (["--csv"], ["--format", "csv"]))
    assert short == long
    assert short[1].startswith("benchmark,fail,n,")


def test_a_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = shown(capsys, str(FIRST), "--table", "communication")
    assert code == 0
    assert text.splitlines()[0] == "Communication"
    _, text, _ = shown(capsys, str(FIRST), "--table", "curve", "--csv")
    assert len(text.splitlines()) == 1 + 5  # sizes
    _, text, _ = shown(capsys, str(FIRST), "--table", "step_ms", "--csv")
    assert text.splitlines()[0] == "name,step_ms,step_ms_spread"


@pytest.mark.parametrize(
    ("words", "columns", "width"),
    [([], "", 100), ([], "80", 80), ([], "wide", 100), (["--width", "120"], "80", 120)],
)
def test_the_width_that_is_asked_for(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    columns: str,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert shown(capsys, str(FIRST), *words)[1] == report_text(report_of([FIRST]), width)


def test_the_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as it is; one that does not tell is as a file, and no report is narrower than 40."""
    ours, theirs = os.openpty()
    monkeypatch.delenv("COLUMNS", raising=False)
    with open(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "__stdout__", terminal)
        widths = []
        for columns in (132, 0, 7):
            termios.tcsetwinsize(ours, (24, columns))
            widths.append(shown_width())
    os.close(ours)
    assert widths == [132, 100, 40]


def test_another_order(capsys: pytest.CaptureFixture[str]) -> None:
    plain, sorted_ = (shown(capsys, str(FIRST), "--csv", *w)[1] for w in ([], ["--sort", "name"]))
    names = [line.split(",")[0] for line in plain.splitlines()[1:]]
    assert names[:3] == ["flops-fp32", "flops-bf16", "resnet50"]
    assert [line.split(",")[0] for line in sorted_.splitlines()[1:]] == sorted(names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--table", "steps", "--rows", "model"],
            "--rows and --cols are for the metrics of a sweep, not for steps",
        ),
        (["--baseline", str(FIRST), "--compat"], "--baseline is for the score"),
        (["--baseline", str(FIRST), "--table", "steps"], "--baseline is for the score"),
        (["--sort", "speed"], "--sort speed: unknown; choose from name, fail, perf,"),
        (["--table", "rank"], "--table rank: no benchmark reports it: did you mean `ranks`?\n"),
        (
            ["--table", "latency", "--format", "json"],
            "--table goes with --format text or csv or markdown",
        ),
        (["--table", "latency", "--rows", "modle"], "no benchmark has the setting modle"),
    ],
)
def test_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, error = shown(capsys, str(FIRST), *words)
    assert (code, out) == (2, "")
    assert message in error


def test_it_is_imported_without_what_is_slow() -> None:
    code = "import sys, milabench_ddp.commands.report; print({'numpy', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("loss", "level", "code"),
    [
        # a device that is slow is a warning, a loss that is NaN an error
        (1.0, None, 0),
        (1.0, "error", 0),
        (1.0, "warning", 1),
        (math.nan, None, 1),
        (math.nan, "error", 1),
    ],
)
def test_findings_decide_the_exit_code_where_they_are_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], loss: float, level: str | None, code: int
) -> None:
    for device, speed in enumerate((100.0, 101.0, 90.0, 99.0)):
        values = rates(speed + 0.1 * (k % 3) for k in range(60))
        lost = line("data", {"task": "train", "loss": loss}, "data")
        settings = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, start(), values, lost, end())
    options = ["--fail-on", level] if level else []
    for format in ("text", "csv", "json"):
        assert main(["report", str(tmp_path), "--format", format, *options]) == code
    assert main(["report", str(tmp_path), "--table", "findings", *options]) == code
    with pytest.raises(SystemExit) as refused:
        main(["report", str(tmp_path), "--fail-on", "note"])
    assert refused.value.code == 2


def test_the_findings_by_the_layers_of_milabenchs_validation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = line("data", {"task": "train", "loss": math.nan}, "data")
    write(tmp_path, "a.D0", config("a", device=0), start(), rates([1.0] * 5), end(1))
    write(tmp_path, "b.D0", config("b", device=0), start(), end(0))
    write(tmp_path, "c.D0", config("c", device=0), start(), rates([1.0] * 5), lost, end(0))
    assert main(["report", str(tmp_path), "--table", "validation", "--csv"]) == 1
    lines = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert lines[0] == ["layer", "result", "finding", "sentence"]
    found = {cells[0]: (cells[1], cells[2], cells[3].partition(":")[0]) for cells in lines[1:]}
    assert list(found) == ["error", "ensure_rate", "version", "loss", "usage", "planning"]
    assert found["error"] == ("error", "failed", "a.D0")
    assert found["ensure_rate"] == ("error", "no_rate", "b.D0")
    assert found["loss"] == ("error", "nan_loss", "c.D0")
    assert found["planning"][:2] == ("ok", "")


def test_a_timeline_and_what_it_goes_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timeline.json"
    options = ["report", str(FIRST), "--timeline", str(path)]
    assert main([*options, "--select", "gpt-*"]) == 0
    assert re.match(r"gpt-ddp\.0: 2 ranks, \d+ steps, aligned by ", capsys.readouterr().out)
    assert json.loads(path.read_text())["traceEvents"]
    for more in (["--compat"], ["--table", "steps"], ["--predict", "2"]):
        assert main([*options, *more]) == 2
        assert "--timeline goes without" in capsys.readouterr().err
    assert main(["report", str(FIRST), "--select", "gpt-*"]) == 2
    assert "--select is for --timeline" in capsys.readouterr().err


def test_plots_of_what_is_selected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["report", str(FIRST), "--plots", str(tmp_path), "--select", "gpt-*"]
    assert main(options) == 0
    assert f" charts in {tmp_path}\n" in capsys.readouterr().out
    assert (tmp_path / "gpt-ddp.ledger.svg").read_text().startswith("<svg ")
    assert not list(tmp_path.glob("*bert*"))
    assert main([*options, "--table", "steps"]) == 2
    assert "--plots goes without" in capsys.readouterr().err


def test_rows_and_columns_without_a_metric_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "anything", "--rows", "model"]) == 2
    assert "name it by --table" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [("--html", "p.html"), ("--plots", "p"), ("--timeline", "p.json")]
)
def test_a_file_of_its_own_format_takes_no_other(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "anything", *words, "--format", "json"]) == 2
    assert f"{words[0]} goes without --format json" in capsys.readouterr().err
