"""The command: what it prints, packs and returns."""

import tarfile

import pytest

from perf.gpu_check import __main__ as command
from perf.gpu_check import packages
from perf.gpu_check.parts import PARTS, Step
from perf.gpu_check.steps import Steps


def ends(code):
    return lambda device, folder: [Step(f"with {code}", ["-c", f"raise SystemExit({code})"])]


def test_parts_are_told_packed_and_judged(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "PARTS", {"good": ends(0), "bad": ends(1)})
    rows = [f"row {number} {'x' * 200}" for number in range(99)]
    monkeypatch.setattr(Steps, "rows", lambda _: rows)
    target = tmp_path / "out" / "all.tar.gz"
    argv = [str(tmp_path / "folder"), "--device", "cpu", "--archive", str(target)]
    assert command.main(argv) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a rehearsal on the CPU; torch ")
    assert [line.split(" s  ")[1] for line in lines[1:3]] == [
        "with 0",
        "with 1: it printed nothing",
    ]
    assert lines[3].startswith("row 0 ")
    assert lines[-2] == "... and 65 more rows in the archive"
    assert lines[-1].startswith(f"{target}: 0.00 MB; ")
    assert len(lines) <= command.LINES
    assert max(map(len, lines)) <= max(command.WIDTH, len(lines[-1]))
    with tarfile.open(target) as tar:
        assert tar.getnames().count("done.json") == 1
    monkeypatch.setattr(packages, "provide", lambda *_: "")  # both have been looked at above
    monkeypatch.setattr(command, "DEVICE", "")
    assert command.main([*argv, "good"]) == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [([], "give a folder"), (["f", "all"], f"no part all; there are {', '.join(PARTS)}")],
)
def test_a_wrong_command_line(argv, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(argv)
    assert said in capsys.readouterr().err
