"""Terminals that are stopped, and pipes without a reader."""

import io
import os
import pty
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

import pytest

from milabench_ddp.display import screen_thread, show_progress
from milabench_ddp.display.run_progress import Outline
from milabench_ddp.display.screen_thread import Job, Jobs, write_in_thread
from tests.support.progress import OK, rate, started
from tests.support.wait import wait_for


def test_jobs_are_done_in_order_before_the_end():
    done: list[int] = []
    jobs: Jobs = SimpleQueue()
    with write_in_thread(io.StringIO(), jobs):
        for number in range(100):
            jobs.put(lambda number=number: done.append(number))
    assert done == list(range(100))


def test_it_draws_between_jobs_and_not_while_one_waits():
    drawn, goes_on, waits = [0], threading.Event(), threading.Event()

    def draw() -> None:
        drawn[0] += 1

    def wait() -> None:
        waits.set()
        goes_on.wait()

    @contextmanager
    def picture() -> Iterator[Job]:
        yield draw

    jobs: Jobs = SimpleQueue()
    with write_in_thread(io.StringIO(), jobs, picture(), interval=0.001):
        wait_for(lambda: drawn[0] > 2)
        jobs.put(wait)
        waits.wait()
        before = drawn[0]
        jobs.put(lambda: drawn.append(before))
        goes_on.set()
    assert drawn[1] == before  # what was put is done, and no picture was due before


def test_a_terminal_that_is_gone_gets_nothing_more():
    def fail() -> None:
        raise OSError("gone")

    jobs: Jobs = SimpleQueue()
    with write_in_thread(io.StringIO(), jobs):
        jobs.put(fail)
        jobs.put(fail)


def test_what_cannot_be_shown_is_told_once_and_the_rest_is_shown():
    def fail() -> None:
        raise ValueError("no such style")

    class Out(io.StringIO):
        said = ""

        def close(self) -> None:
            self.said = self.getvalue()

    out = Out()
    jobs: Jobs = SimpleQueue()
    with write_in_thread(out, jobs):
        for job in (fail, fail, lambda: print("the rest", file=out)):
            jobs.put(job)
    told, rest = out.said.splitlines()
    assert "the progress display is incomplete: " in told
    assert "ValueError: no such style" in told
    assert rest == "the rest"


@pytest.mark.parametrize("kind", ["a stopped terminal", "a pipe without a reader"])
def test_a_run_does_not_wait_for(kind: str, monkeypatch: pytest.MonkeyPatch):
    read, write = pty.openpty() if kind == "a stopped terminal" else os.pipe()
    if kind == "a stopped terminal":
        termios.tcflow(write, termios.TCOOFF)  # as Ctrl-S does
    else:
        os.set_blocking(write, False)
        with suppress(BlockingIOError):
            while True:
                os.write(write, bytes(1 << 12))
        os.set_blocking(write, True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(screen_thread, "PATIENCE", 0.05)
    monkeypatch.setattr(sys, "stderr", os.fdopen(write, "w", closefd=False))
    names = [f"b{number}" for number in range(20)]
    with show_progress(Outline(names), quiet=False) as observer:
        for name in names:  # each of these calls returns
            observer.begin(name, [], 60.0)
            observer.event(started(f"{name}.D0"))
            observer.event(rate(f"{name}.D0", 1.0))
            observer.end(name, OK)
    if kind == "a stopped terminal":
        termios.tcflow(write, termios.TCOON)
    text = b""
    while b"b19: ok" not in text:  # no fact is left out, once it goes on
        text += os.read(read, 1 << 16)
    assert all(f"b{number}: ok".encode() in text for number in range(20))
    os.close(read)
    os.close(write)
