import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands.report import show
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    going_on,
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
    assert heads["csv"].startswith("bench,fail,n,")
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


@pytest.mark.parametrize(("outcome", "why"), [("cancelled", "cancelled"), (None, "lost")])
def test_a_run_that_was_stopped_after_its_last_benchmark(
    tmp_path: Path, outcome: str | None, why: str
) -> None:
    write_state(tmp_path, outcome, {"b": "ok"})
    write(tmp_path, "b.D0", config("b"), *MEASURED)
    out = io.StringIO()
    assert show(tmp_path, out) != 0
    assert f"Failure rate:       0.00% (FAIL: the run was {why})\n" in out.getvalue()


def test_a_run_that_goes_on_or_has_no_file_has_not_passed(tmp_path: Path) -> None:
    write_state(tmp_path, None, {"b": "running"})
    write(tmp_path, "b.D0", config("b"), start(), rates([1.0] * 5))
    out = io.StringIO()
    with going_on(tmp_path, "b"):
        assert show(tmp_path, out) == 1
    assert "Failure rate:       0.00% so far\n" in out.getvalue()
    write_state(tmp_path / "empty", "ok", {})
    out = io.StringIO()
    assert show(tmp_path / "empty", out) == 1
    assert "Failure rate:  none: nothing was measured\n" in out.getvalue()


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
    assert short[1].startswith("bench,fail,n,")


def test_a_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = shown(capsys, str(FIRST), "--table", "communication")
    assert code == 0
    assert text.splitlines()[0] == "Communication"
    _, text, _ = shown(capsys, str(FIRST), "--table", "curve", "--csv")
    assert len(text.splitlines()) == 1 + 5  # sizes
    _, text, _ = shown(capsys, str(FIRST), "--table", "step_ms", "--csv")
    assert text.splitlines()[0] == "name,step_ms,step_ms_spread"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "xml"], "--format xml: unknown; choose from text, csv, json"),
        (["--csv", "--format", "json"], "--csv and --format json ask for two formats"),
        (
            ["--table", "steps", "--rows", "model"],
            "--rows and --cols are for the metrics of a sweep, not for steps",
        ),
        (["--baseline", str(FIRST), "--compat"], "--baseline is for the score"),
        (["--baseline", str(FIRST), "--table", "steps"], "--baseline is for the score"),
        (["--table", "rank"], "did you mean `ranks`?"),
        (["--table", "latency", "--format", "json"], "--table goes with --format text or csv"),
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
