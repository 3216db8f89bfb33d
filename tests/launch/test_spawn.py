import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.launch import spawn
from milabench_ddp.launch.spawn import Spawned
from milabench_ddp.plan.launch import Process


def process(*argv: str, env: Mapping[str, str] | None = None) -> Process:
    return Process(("b", "D0"), argv, os.environ if env is None else env, 0, (0,))


def output(spawned: Spawned) -> tuple[str, str]:
    out, err = spawned.popen.communicate()
    return out.decode(), err.decode()


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[float, subprocess.Popen[Any]]]]:
    """Each process that is started, and the monotonic time after its start."""
    found: list[tuple[float, subprocess.Popen[Any]]] = []

    class Popen(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            found.append((time.monotonic(), self))

    monkeypatch.setattr(subprocess, "Popen", Popen)
    yield found
    for _, popen in found:
        with popen:  # closes its pipes
            pass


def test_no_program_starts_before_all_wait(forked: list[tuple[float, subprocess.Popen[Any]]]):
    eight = spawn.spawn([process("echo", str(i)) for i in range(8)])
    assert [output(each) for each in eight] == [(f"{i}\n", "") for i in range(8)]
    assert min(each.started for each in eight) >= max(time for time, _ in forked)


def test_the_environment_is_all_that_a_program_gets():
    (one,) = spawn.spawn([process("/usr/bin/env", env={"A": "a b", "LC_CTYPE": "C"})])
    assert sorted(output(one)[0].splitlines()) == ["A=a b", "LC_CTYPE=C"]
    (one,) = spawn.spawn([process("/usr/bin/env", env={"A": ""})])
    assert output(one)[0] == "A=\n"


def test_each_leads_a_session_of_its_own():
    text = "import os; print(os.getsid(0) == os.getpid())"
    (one,) = spawn.spawn([process(sys.executable, "-c", text)])
    assert output(one)[0] == "True\n"


def test_one_that_cannot_be_executed_does_not_hold_up_the_others():
    bad, good = spawn.spawn([process("/no/such/program"), process("echo")])
    assert bad.error == "cannot execute /no/such/program: No such file or directory"
    assert good.error == ""
    assert [output(each)[0] for each in (bad, good)] == ["", "\n"]


def test_where_one_cannot_be_started_none_is(forked: list[tuple[float, subprocess.Popen[Any]]]):
    with pytest.raises(ValueError, match="null"):
        spawn.spawn([process("echo"), process("echo", "\0")])
    ((_, first),) = forked
    assert first.returncode is not None
    assert first.communicate()[0] == b""


def test_no_descriptor_is_left():
    before = list(Path("/proc/self/fd").iterdir())
    for each in spawn.spawn([process("echo"), process("/no/such/program")]):
        output(each)
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
