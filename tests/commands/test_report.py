import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands.report import run, show
from milabench_ddp.errors import RunDirError
from tests.support.result_files import RECORDED, config, end, rates, start, write

FIRST = RECORDED / "first"
RIJUBIGO = RECORDED / "milabench" / "rijubigo"


def test_formats() -> None:
    heads = {}
    for format in ("text", "csv", "json"):
        out = io.StringIO()
        assert run([RIJUBIGO], True, format, None, out) == 0
        heads[format] = out.getvalue()
    assert heads["text"].startswith("Run      ")
    assert heads["csv"].startswith("bench,fail,n,")
    assert json.loads(heads["json"])["compat"] is True


def test_it_succeeds_also_where_it_tells_of_failures(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b"), start(), rates([1.0]), end(1))
    out = io.StringIO()
    assert show([tmp_path], out) == 0
    assert "b: failed: exit status 1" in out.getvalue()


def test_a_folder_that_is_none() -> None:
    with pytest.raises(RunDirError, match="did you mean `rijubigo`"):
        run([RIJUBIGO.parent / "rijubogo"], False, "text", None, io.StringIO())


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
    assert text.splitlines()[0] == "name,step_ms"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "xml"], "--format xml: unknown; choose from text, csv, json"),
        (["--csv", "--format", "json"], "--csv and --format json ask for two formats"),
        (
            ["--table", "steps", "--rows", "model"],
            "--rows and --cols are for the metrics of a sweep, not for steps",
        ),
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
