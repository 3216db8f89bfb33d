from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.prepare import environment

CPU = ("--device", "cpu", "--gpus", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILABENCH_BASE", str(tmp_path / "base"))
    Path("own").mkdir()
    for name in ("own/main.py", "p.py", "own/requirements.txt"):
        Path(name).write_text("")
    Path("s.yaml").write_text("""
a: {program: own/main.py, plan: {method: per_gpu}}
b: {program: p.py, plan: {method: per_gpu}}
""")
    return tmp_path


def shell(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    def commands(group, folder, uv):
        return [["sh", "-c", script.format(folder=folder)]]

    monkeypatch.setattr(environment, "install_commands", commands)


def test_it_is_made_once_and_then_used(here: Path, monkeypatch, capsys):
    shell(monkeypatch, "mkdir -p {folder}/bin; touch {folder}/bin/python")
    assert main(["install", "s.yaml", *CPU]) == 0
    folder = here / "base" / "venv" / "a"
    assert capsys.readouterr().out == f"{folder}: made in 0 s, for a\n"
    assert main(["install", "s.yaml", *CPU]) == 0
    assert capsys.readouterr().out == f"{folder}: exists already, for a\n"
    assert main(["dry", "s.yaml", *CPU]) == 0
    assert f"{folder}/bin/python -u {here}/own/main.py" in capsys.readouterr().out


def test_nothing_to_install(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["install", "s.yaml", *CPU, "--select", "b"]) == 0
    assert capsys.readouterr().out.startswith("nothing to install")
    assert not (here / "base").exists()


def test_a_failure_is_exit_1_with_its_last_lines(here: Path, monkeypatch, capsys):
    shell(monkeypatch, "echo no such version; exit 7")
    assert main(["install", "s.yaml", *CPU]) == 1
    err = capsys.readouterr().err
    assert "milabench: a: the installation failed with exit status 7" in err
    assert err.endswith("  no such version\n")


def test_something_in_the_way_is_exit_2(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "base" / "venv" / "a").mkdir(parents=True)
    assert main(["install", "s.yaml", *CPU]) == 2
    assert "did not make it" in capsys.readouterr().err
