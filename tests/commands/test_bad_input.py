"""Bad input through the command line: exit code 2, one clear message, nothing lost."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands import setup
from tests.support.result_files import RECORDED
from tests.support.workplace import GOOD

ONE = "x: {program: p.py, plan: {method: per_gpu}}\n"

NO_PROGRAM = "a program that is not there"

CASES = {
    "a missing file": (
        {},
        ["nothing.yaml"],
        "nothing.yaml: no such file, and no shipped configuration of that name",
    ),
    "broken YAML": ({"s.yaml": "x: {program: [\n"}, ["s.yaml"], "s.yaml:2: "),
    "an include loop": (
        {"s.yaml": "include: t.yaml\n", "t.yaml": "include: s.yaml\n"},
        ["s.yaml"],
        "include loop: s.yaml -> t.yaml -> s.yaml",
    ),
    "an inherit cycle": (
        {"s.yaml": "x: {inherits: y}\ny: {inherits: x}\n"},
        ["s.yaml"],
        "inherit cycle: x -> y -> x (s.yaml:1)",
    ),
    "an unknown parent": (
        {"s.yaml": "_base: {}\nx: {inherits: _bse}\n"},
        ["s.yaml"],
        "s.yaml:2: did you mean `_base`?",
    ),
    "an unknown key": (
        {"s.yaml": ONE + "y:\n  max_durtion: 3\n"},
        ["s.yaml"],
        "unknown key `max_durtion` in s.yaml:3: did you mean `max_duration`?",
    ),
    "a wrong type": (
        {"s.yaml": "x: {program: p.py, plan: {method: per_gpu}, max_duration: long}\n"},
        ["s.yaml"],
        "`max_duration` in s.yaml:1",
    ),
    "an unknown plan": (
        {"s.yaml": "x: {program: p.py, plan: {method: per_gup}}\n"},
        ["s.yaml"],
        "did you mean `per_gpu`?",
    ),
    "an unknown placeholder": (
        {"s.yaml": "x: {program: p.py, plan: {method: per_gpu}, argv: ['{gpu_cout}']}\n"},
        ["s.yaml"],
        "did you mean `gpu_count`?",
    ),
    "an unknown selection": (
        {"s.yaml": ONE.replace("x", "resnet")},
        ["s.yaml", "--select", "resnte"],
        "did you mean `resnet`?",
    ),
    "an unknown exclusion": ({"s.yaml": ONE}, ["s.yaml", "--exclude", "zzz"], "zzz"),
    "an unknown override": (
        {"s.yaml": ONE.replace("x", "resnet")},
        ["s.yaml", "--override", "resnte.weight=1"],
        "did you mean `resnet`?",
    ),
    "an unknown preset": ({"s.yaml": ONE}, ["s.yaml", "--preset", "huge"], "huge"),
    "a matrix whose names collide": (
        {"s.yaml": "m: {matrix: {a: [1, 2]}, job: {name: same, program: p.py}}\n"},
        ["s.yaml"],
        "same",
    ),
    NO_PROGRAM: (
        {"s.yaml": "x: {program: q.py, plan: {method: per_gpu}}\n"},
        ["s.yaml"],
        "milabench: no such file: q.py (program in s.yaml:1): did you mean `p.py`?\n",
    ),
    "a device that is not there": ({"s.yaml": ONE}, ["s.yaml", "--device", "hpu"], "--device hpu"),
    "a system file that is not there": (
        {"s.yaml": ONE},
        ["s.yaml", "--system", "n.yaml"],
        "n.yaml",
    ),
}


NODES = "m: {matrix: {nodes: [1000000]}, job: {name: 'b{nodes}', num_machines: '{nodes}'}}\n"
SYSTEM = "system: {arch: cuda, gpu: {count: 1000000000, capacity: 1 GiB}}\n"
CASES |= {
    "too many devices": ({"s.yaml": ONE}, ["s.yaml", "--gpus", "131073"], "131,073 devices: at"),
    "too many nodes": ({"s.yaml": NODES}, ["s.yaml", "--gpus", "8"], "nodes"),
    "a system of too many devices": (
        {"s.yaml": ONE, "n.yaml": SYSTEM},
        ["s.yaml", "--system", "n.yaml", "--device", "cpu"],
        "1,000,000,000 devices: at most 131,072 devices can be planned",
    ),
    "a long value": (
        {"s.yaml": f"x: {{program: p.py, weight: {'a' * 100_000}}}\n"},
        ["s.yaml"],
        "[... 99,",
    ),
    "a name that is too long for a file": ({}, ["a" * 5000], "File name too long"),
}


VERBS = ("run", "list", "dry", "resolve")  # the last two print what may run elsewhere
ASKED = [(c, v) for c in CASES for v in VERBS if c != NO_PROGRAM or v in ("run", "list")]


@pytest.mark.parametrize(("case", "verb"), ASKED)
def test_a_configuration(case: str, verb: str, tmp_path: Path, monkeypatch, capsys):
    files, words, message = CASES[case]
    monkeypatch.chdir(tmp_path)
    for name, text in {"p.py": GOOD, **files}.items():
        (tmp_path / name).write_text(text)
    device = [] if "--device" in words else ["--device", "cpu"]
    assert main([verb, *words, *device]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith("milabench: ")
    assert out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no run folder mine"),
        (lambda path: path.mkdir(), "mine"),
        (lambda path: path.write_text("x"), "mine is a file"),
    ],
)
def test_a_run_folder_that_is_none(make, message: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "mine")
    assert main(["report", "mine"]) == 2
    assert message in capsys.readouterr().err


def test_damaged_files_are_named_and_the_report_goes_on(at, suite):
    config = suite(one=GOOD, two=GOOD)
    at.milabench("run", config, "--device", "cpu", "--gpus", "2", "--name", "mine")
    cut, garbled = at.run() / "one.D0.data", at.run() / "two.D1.data"
    cut.write_bytes(cut.read_bytes()[:-40])
    lines = garbled.read_bytes().splitlines(keepends=True)
    garbled.write_bytes(b"".join([*lines[:5], b"\xff\x00 garbage\n", *lines[6:]]))
    done = at.milabench("report", str(at.run()))
    assert done.code == 1  # the file that was cut off does not say that its program ended
    findings, _ = done.out.split("\nbenchmark ")
    assert "one.D0.data" in findings
    assert "two.D1.data" in findings


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["dry", "ddp"]) == 2
    assert "the current folder does not exist any more: cd to another" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_dry_writes_words_as_run_gives_them_to_programs(tmp_path: Path, encoding: str):
    """Whatever the encoding of the output is."""
    config = tmp_path / "s.yaml"
    config.write_text("x: {program: p.py, plan: {method: per_gpu}, argv: ['é €']}\n")
    env = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"}
    for verb, said in (("dry", "'é €'".encode()), ("resolve", b"x:")):
        words = [sys.executable, "-m", "milabench_ddp", verb, config, "--device", "cpu"]
        done = subprocess.run(words, env=env, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert said in done.stdout.replace(b"\0", b"")


def test_a_home_folder_that_no_one_has(at, suite, monkeypatch):
    monkeypatch.chdir(at.folder)
    assert main(["dry", suite(one=GOOD), "--device", "cpu", "--base", "~no-such-user/x"]) == 0


def test_a_locale_that_cannot_hold_a_word(tmp_path: Path):
    config = tmp_path / "s.yaml"
    config.write_text(
        "x: {program: p.py, plan: {method: per_gpu}, argv: ['é']}\n", encoding="utf-8"
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-m", "milabench_ddp", "dry", config, "--device", "cpu"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    said = "one that is not in the ascii of this locale: choose LC_ALL=C.UTF-8\n"
    assert (done.returncode, said in done.stderr) == (2, True)


def test_a_folder_without_rights(at, suite, monkeypatch, capsys):
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", b"/base/venv")

    monkeypatch.chdir(at.folder)
    monkeypatch.setattr(setup, "site", refused)
    assert main(["dry", suite(one=GOOD), "--device", "cpu"]) == 2
    assert capsys.readouterr().err == "milabench: /base/venv: Permission denied\n"


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json", "csv"])
def test_a_report_in_the_locale_c(form: str):
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-m", "milabench_ddp", "report", RECORDED / "first", "--format", form]
    plain, utf8 = (
        subprocess.run(words, env=each, capture_output=True, check=True).stdout
        for each in (env, {**os.environ, "LC_ALL": "C.UTF-8"})
    )
    assert plain == utf8
    assert plain.decode()
