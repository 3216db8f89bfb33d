"""What py-spy tells of a process, and what a person is told where it tells nothing."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from milabench_ddp.launch import py_spy, stacks
from milabench_ddp.launch.hangs import who_hangs
from milabench_ddp.launch.py_spy import NOT_INSTALLED, Spy
from milabench_ddp.results.state import RankCall

DENIED = "Permission Denied: Try running again with elevated permissions by going 'sudo !!'"
PASSED_BY = "Error: Failed to get process executable name.\n\nCaused by:\n 0: Permission denied"


def test_a_rank_that_sleeps_in_c_tells_its_line(tmp_path: Path) -> None:
    """A program of someone else: it has no part of milabench. py-spy is not on PATH."""
    program = tmp_path / "own.py"
    program.write_text(
        "import ctypes\n\n\n"
        "def body():\n"
        "    print(flush=True)\n"
        "    ctypes.CDLL(None).sleep(1000)\n\n\n"
        "body()\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(10):  # another process may have both cores
            spy = Spy(process.pid)
            spy.ask()
            (threads,), untold = spy.told(time.monotonic() + 10)
            if threads and threads[-1][0].line == 6:
                break
        process.kill()
    assert untold == ""
    assert [str(frame) for frame in threads[-1]] == ["own.py:6 in body", "own.py:9 in <module>"]


@pytest.mark.parametrize(("does", "said"), [
    ("time.sleep(1000)", "it hangs in `time.sleep(1000)` (own.py:4 in <module>)"),
    ("while True: sum(range(9999))", "it is busy in `while True: sum(range(9999))` (own.py:4 in "),
])  # fmt: skip
def test_it_is_looked_at_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str
) -> None:
    """A program that computes may be slow alone: it is not said to hang."""
    monkeypatch.setattr(stacks, "PATIENCE", 20.0)
    program = tmp_path / "own.py"
    program.write_text(f"import time\n\nprint(flush=True)\n{does}\n")
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (found,) = stacks.look([stacks.Look(lambda: {process.pid}, process.pid, None, tmp_path)])
        process.kill()
    assert who_hangs(seen.call for seen in found).startswith(said)


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, error: str) -> Spy:
    """A py-spy that prints an error."""
    (folder / "error").write_text(error)
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\ncat {folder}/error >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    spy = Spy(1)
    spy.ask()
    return spy


@pytest.mark.parametrize("error", [DENIED, PASSED_BY])
@pytest.mark.parametrize(("scope", "said"), [
    ("1\n", "py-spy may not read it: `sysctl kernel.yama.ptrace_scope` is 1, not 0"),
    ("0\n", "py-spy may not read it: a container needs `--cap-add SYS_PTRACE`"),
    (None, "py-spy may not read it: a container needs `--cap-add SYS_PTRACE`"),
])  # fmt: skip
def test_what_is_not_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, scope: str | None, said: str
) -> None:
    monkeypatch.setattr(py_spy, "PTRACE_SCOPE", tmp_path / "scope")
    if scope is not None:
        (tmp_path / "scope").write_text(scope)
    assert fake(tmp_path, monkeypatch, error).told(time.monotonic() + 10) == ([[]], said)


def test_what_is_no_python_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = fake(tmp_path, monkeypatch, "Error: no Python\n\nStack backtrace:\n   0: permission\n")
    assert spy.told(time.monotonic() + 10)[1] == "py-spy says: no Python"


def test_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    spy = Spy(1)
    spy.ask()
    assert spy.told(0.0) == ([], NOT_INSTALLED)


def test_a_time_out_without_stacks_says_what_would_have_shown_them() -> None:
    calls = [RankCall(rank, "S", "", "", untold=NOT_INSTALLED) for rank in range(2)]
    assert who_hangs(calls, timed_out=True) == (
        f"ranks 0-1 sleep, and do not tell where ({NOT_INSTALLED})"
    )
    assert who_hangs(calls) == ""  # the reason of a failure says more
