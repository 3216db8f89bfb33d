"""Agents as child processes: what starts, what is said of what does not, and how they leave."""

import sys
import time
from pathlib import Path

import pytest

from milabench_ddp.dispatch import local
from milabench_ddp.errors import DispatchError
from milabench_ddp.results.run_dir import RunDir


def test_each_part_has_an_address_of_its_own(tmp_path: Path) -> None:
    found = local.parts(RunDir(tmp_path), 3)
    assert list(found) == ["node0", "node1", "node2"]
    ends = [words[-6:] for words in found.values()]
    assert ends == [
        ["--rank", str(k), "--address", f"127.0.0.{k + 1}", "--of", "3"] for k in range(3)
    ]


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_they_talk_and_leave_a_log(tmp_path: Path) -> None:
    echo = "import sys; print('hello', file=sys.stderr); print(sys.stdin.readline(), end='')"
    with local.started(RunDir(tmp_path), {"n0": python(echo)}, 5.0) as channels:
        channels["n0"].send(do="beat")
        assert channels["n0"].receive() == [{"do": "beat"}]
    assert RunDir(tmp_path).node_log("n0").read_text() == "hello\n"


def test_one_that_waits_for_its_leader_sees_the_end(tmp_path: Path) -> None:
    waits = f"import sys; sys.stdin.read(); open({str(tmp_path / 'left')!r}, 'w')"
    with local.started(RunDir(tmp_path), {"n0": python(waits), "n1": python(waits)}, 5.0):
        assert not (tmp_path / "left").exists()
    assert (tmp_path / "left").exists()


def test_one_that_does_not_leave_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_LEAVE", 0.1)
    began = time.monotonic()
    with local.started(RunDir(tmp_path), {"n0": python("import time; time.sleep(60)")}, 0.1):
        pass
    assert time.monotonic() - began < 10


def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    left = f"import sys; sys.stdin.read(); open({str(tmp_path / 'left')!r}, 'w')"
    commands = {"n0": python(left), "n1": ["/nowhere/ssh", "host"]}
    with (
        pytest.raises(DispatchError, match=r"cannot start /nowhere/ssh: No such file"),
        local.started(RunDir(tmp_path), commands, 5.0),
    ):
        pass
    assert (tmp_path / "left").exists()  # the others have ended with it
