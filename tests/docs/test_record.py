"""The text surgery of the command that records the README's run anew."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import record

from milabench_ddp.cli import main
from tests.support.workplace import GOOD

README = """\
Try it::

    pip install -e . && milabench run config/x.yaml --gpus 2

.. the output of a real run, kept somewhere

::

    Run  old

    a | 1

On a machine with GPUs it is faster. The tests::

    pip install -e ".[test]" && pytest
"""


def test_the_block_alone_is_replaced() -> None:
    changed = record.with_report(README, "Run  new\n\nb | 2\n    deeper\n")
    old, new = "    Run  old\n\n    a | 1\n", "    Run  new\n\n    b | 2\n        deeper\n"
    assert changed == README.replace(old, new)


def test_to_write_the_same_report_changes_nothing() -> None:
    assert record.with_report(README, "Run  old\n\na | 1\n") == README


def test_a_long_report_is_cut() -> None:
    lines = [f"line {number}\n" for number in range(record.SHOWN + 1)]
    assert record.excerpt("".join(lines[:-1])) == "".join(lines[:-1])
    assert record.excerpt("".join(lines)) == "".join([*lines[:-1], "...\n"])


@pytest.mark.parametrize("missing", [record.MARKER, "\n::\n\n"])
def test_a_readme_without_the_block_is_refused(missing: str) -> None:
    with pytest.raises(SystemExit, match="no literal block"):
        record.with_report(README.replace(missing, ""), "x\n")


def test_the_command_is_the_one_that_the_readme_shows() -> None:
    assert record.command_of(README) == ["milabench", "run", "config/x.yaml", "--gpus", "2"]
    shown = record.command_of(record.README.read_text())
    assert shown == ["milabench", "run", "config/ddp.yaml"]


def test_what_the_report_reads_is_kept_without_our_paths(tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "kept"
    texts = {
        "run.json": '{"base": "/our/base"}',
        "b.D0.data": "/our/base/x /our/venv/bin/python\n",
        "b/state.json": "{}",
        "b/command.sh": "cd /our/base",
        "b.D0.stderr": "a warning",
        "plan.json": "{}",
    }
    for name, text in texts.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(text)
    (target / "gone.data").parent.mkdir()
    (target / "gone.data").write_text("an older recording")
    record.keep(run, target, {"/our/base": "/base", "/our/venv": "/venv"})
    kept = {str(p.relative_to(target)): p.read_text() for p in target.rglob("*") if p.is_file()}
    assert kept == {
        "run.json": '{"base": "/base"}',
        "b.D0.data": "/base/x /venv/bin/python\n",
        "b/state.json": "{}",
    }


def test_a_kept_run_has_the_report_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(record.RECORDED, tmp_path / "a" / "first")
    record.keep(tmp_path / "a" / "first", tmp_path / "b" / "first", {"/checkout": "/elsewhere"})
    printed = []
    for folder in ("a", "b"):
        monkeypatch.chdir(tmp_path / folder)
        assert main(["report", "first"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "/elsewhere" in (tmp_path / "b" / "first" / "run.json").read_text()


def test_the_whole_on_a_small_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    readme = README.replace("config/x.yaml --gpus 2", "suite.yaml --device cpu --gpus 1")
    (checkout / "README.rst").write_text(readme)
    (checkout / "good.py").write_text(GOOD)
    settings = "{program: good.py, plan: {method: per_gpu}, max_duration: 60, weight: 1}"
    (checkout / "suite.yaml").write_text(f"good: {settings}\n")
    monkeypatch.setattr(record, "REPOSITORY", checkout)
    monkeypatch.setattr(record, "README", checkout / "README.rst")
    monkeypatch.setattr(record, "RECORDED", checkout / "tests" / "recorded" / "first")
    monkeypatch.setattr(record, "PICTURE", checkout / "picture.svg")
    monkeypatch.setattr(record, "CHART", "good.rate.svg")
    git = ("git", "-c", "user.name=x", "-c", "user.email=x")
    subprocess.run([*git, "init", "-q"], cwd=checkout, check=True)
    with pytest.raises(SystemExit, match="commit your changes first"):
        record.main()
    subprocess.run([*git, "add", "."], cwd=checkout, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], cwd=checkout, check=True)
    record.main()
    shown = (checkout / "README.rst").read_text()
    assert "runs/first" in shown
    assert re.search(r"^    good .* 10[01][.\d]* ", shown, re.MULTILINE)
    assert shown.endswith(readme[readme.index("On a machine") :])
    for path in record.RECORDED.rglob("*.json"):
        assert str(tmp_path) not in path.read_text()
    assert "<svg" in record.PICTURE.read_text()
    monkeypatch.chdir(record.RECORDED.parent)
    capfd.readouterr()
    assert main(["report", "first"]) == 0
    reported = record.excerpt(capfd.readouterr().out).replace("first", "runs/first")
    assert [line for line in reported.splitlines() if f"    {line}".rstrip() not in shown] == []
