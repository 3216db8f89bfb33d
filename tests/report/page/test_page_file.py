import re
import webbrowser
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.rates import noisy
from tests.support.result_files import RECORDED, config, end, rates, start, write, write_state


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "run"
    write_state(folder, "ok", {"a": "ok"})
    measured = rates(noisy(60, 0.0, 1))
    write(folder, "a.D0", config("a", device=0), start(), measured, end(0, outcome="ok"))
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were given to a browser."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not addresses.append(address))
    return addresses


def test_to_a_file(run: Path, capsys: pytest.CaptureFixture[str], opened: list[str]) -> None:
    path = run.parent / "page one.html"
    assert main(["report", str(run), "--html", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"page: {path} (0.")
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert main(["report", str(run), "--format", "html"]) == 0
    assert capsys.readouterr().out == page
    assert opened == []
    assert main(["report", str(run), "--html", str(path), "--open"]) == 0
    assert opened == [path.as_uri()]


def test_opened_beside_the_results(
    run: Path, capsys: pytest.CaptureFixture[str], opened: list[str]
) -> None:
    assert main(["report", str(run), "--open"]) == 0
    assert opened == [(run / "report.html").as_uri()]
    assert capsys.readouterr().out.startswith(f"page: {run}/report.html (")
    assert main(["report", str(run)]) == 0  # it is none of the run's results


def test_where_the_folder_cannot_be_written(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (run / "report.html").mkdir()
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["report", str(run), "--open"]) == 0
    said = capsys.readouterr().out.splitlines()
    path = Path(said[0].removeprefix("page: ").partition(" (")[0])
    assert path.parent == run.parent
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert said[1:] == ["no browser was found here: copy the page, it is a single file"]


def test_some_benchmarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    words = ["report", str(RECORDED / "first"), "--html", str(path), "--select"]
    assert main([*words, "gpt-*"]) == 0
    assert set(re.findall('data-name="([^"]*)" data-found', path.read_text())) == {
        "gpt-ddp",
        "gpt-fsdp",
    }
    assert main([*words, "gtp-*"]) == 2
    assert "no benchmark of that name was measured" in capsys.readouterr().err


def test_what_it_does_not_go_with(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--html", "x"], ["--open"]):
        for more in (["--table", "steps"], ["--compat"], ["--predict", "2"]):
            assert main(["report", str(run), *words, *more]) == 2
            assert f"{words[0]} goes without" in capsys.readouterr().err
    assert main(["report", str(run), "--html", str(run)]) == 2
    assert f"cannot write {run}: Is a directory" in capsys.readouterr().err
