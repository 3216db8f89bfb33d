"""Which processes are our own."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from milabench_ddp.machine.host import OtherProcesses, other_process


@pytest.fixture
def child() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def gone() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_this_process_and_its_descendants_are_our_own(child: int) -> None:
    assert other_process(os.getpid()) == other_process(child) == ""


def test_others_have_a_name_a_pid_and_a_user() -> None:
    parent = os.getppid()
    assert f" (pid {parent}, of " in other_process(parent)


def test_what_cannot_be_seen_is_told_only_if_asked_for() -> None:
    pid = gone()
    assert other_process(pid) == ""
    assert other_process(pid, "hidden") == "hidden"


def test_only_others_are_named(child: int) -> None:
    others, parent = OtherProcesses(), os.getppid()
    for _ in range(2):
        assert others.named([os.getpid(), parent, child, gone()]) == (other_process(parent),)
    assert others.named([child]) == ()
