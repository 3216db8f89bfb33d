"""What may follow on a command line, and the real shells that ask for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.options.command_table import COMMANDS
from tests.support.result_files import write_state
from tests.support.workplace import GOOD, Suite, Workplace


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # what a shell would take for a command, or for several words, is not offered
    runs = {"monday": 1e9, "b.2026-11-21_19:39:00": 2e9, "m;rm x": 3e9, "mon day": 4e9, "*": 5e9}
    for name, created in runs.items():
        write_state(tmp_path / "runs" / name, "ok", {"x": "ok"}, created=created)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def completed(line: str, capsys: pytest.CaptureFixture[str], shell: str = "zsh") -> list[str]:
    assert main(["completion", shell, line]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("milabench re", ["resolve", "report"]),
        ("milabench run dd", ["ddp"]),
        ("milabench run ddp --sel", ["--select"]),
        ("milabench run ddp --quiet --sh", ["--shuffle"]),
        ("milabench run ddp --fail-on ", ["none", "warning", "error"]),
        ("milabench run ddp --device=c", ["--device=cuda", "--device=cpu"]),
        ("milabench run ddp --runner sl", ["slurm"]),
        ("milabench run ddp --part", ["--partition"]),
        ("milabench run ddp --gpus ", []),  # any number
        (
            "milabench run ddp --select resnet50-",
            [f"resnet50-{kind}" for kind in ("loader", "fp16", "ddp", "e2e", "folder")],
        ),
        ("milabench run --quiet ddp --exclude gpt-tp,@mono", ["gpt-tp,@monogpu"]),
        ("milabench report ", ["latest", "b.2026-11-21_19:39:00", "monday"]),
        ("milabench compare monday la", ["latest"]),
        ("milabench run --resume mon", ["monday"]),
        ("milabench report latest --table rank", ["ranks"]),
        ("milabench completion ", ["bash", "zsh", "fish"]),
        ("milabench nosuch ", [*COMMANDS, "--help", "--version"]),
    ],
)
def test_what_may_follow(
    line: str, words: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(line, capsys) == words


def test_benchmarks_of_ones_own(
    at: Workplace, suite: Suite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = suite(one=GOOD, other=GOOD)
    monkeypatch.chdir(at.folder)
    assert completed(f"milabench dry {name} --select o", capsys) == ["one", "other"]


def test_bash_replaces_what_is_behind_a_break(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_WORDBREAKS", " \t\n@:=")
    line = "milabench report b.2026-11-21_19:3"
    assert completed(line, capsys, "bash") == ["39:00"]
    assert completed("milabench run ddp --device=x", capsys, "bash") == ["xpu"]
    assert completed("milabench run ddp --select @gp", capsys, "bash") == ["@gpt"]


ASK = {
    "bash": 'eval "$(milabench completion bash)"; COMP_LINE="milabench report "; '
    'COMP_POINT=${#COMP_LINE}; _milabench; printf "%s\\n" "${COMPREPLY[@]}"; complete -p milabench',
    "fish": 'milabench completion fish | source; complete -C "milabench report "',
    "zsh": "autoload -U compinit; compinit -u -D; compadd() { shift; print -l ${(P)1} }; "
    'source <(milabench completion zsh); words=(milabench report ""); CURRENT=3; _milabench',
}


@pytest.mark.parametrize("shell", ASK)
def test_the_script_works_in_its_shell(shell: str, here: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(here)}
    done = subprocess.run([shell, "-c", ASK[shell]], env=env, capture_output=True, text=True)
    assert done.stderr == ""
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert set(found) >= {"latest", "b.2026-11-21_19:39:00", "monday"}
