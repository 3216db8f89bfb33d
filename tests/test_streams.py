"""Standard streams of a process that are closed, full or without a reader."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

CODE = """
import sys; from milabench_ddp.streams import _Unheard, prepare_streams
_Unheard._patience = 0.5
prepare_streams(); prepare_streams()
for _ in range(3): print("said \\udc80", file=sys.stderr, flush=True)
sys.stderr.write("x" * 100_000); sys.stderr.flush()
assert sys.stderr.fileno() == 2 and not sys.stderr.isatty()
print("goes on")
"""


def run(**options: Any) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False, **options)


def test_what_is_written_arrives() -> None:
    done = run(stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"goes on\n")
    assert done.stderr == b"said \\udc80\n" * 3 + b"x" * 100_000


def gone() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("way", ["gone", "full", "closed"])
def test_a_standard_error_that_takes_nothing_ends_nothing(way: str) -> None:
    options: Mapping[str, Any] = {"close_fds": True}
    fd = gone() if way == "gone" else os.open("/dev/full", os.O_WRONLY)
    if way == "closed":
        options = {"preexec_fn": lambda: os.close(2)}
    done = run(stderr=fd, **options)
    os.close(fd)
    assert (done.returncode, done.stdout) == (0, b"goes on\n")


def test_a_reader_that_reads_nothing_is_not_waited_for() -> None:
    read, write = os.pipe()
    done = run(stderr=write)
    assert (done.returncode, done.stdout) == (0, b"goes on\n")
    os.close(write)
    with os.fdopen(read, "rb") as late:  # what there was room for
        assert late.read().startswith(b"said \\udc80\n" * 3 + b"x" * 50_000)
