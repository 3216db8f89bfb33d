"""What the harness adds: seconds around a trivial program, CPU time beside one that sleeps."""

import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from ..figure import Figure, Goal, with_growth
from ..paired import REPOSITORY, environment, in_turn, seconds
from ..room import Room
from ..suites import Suite, python

PARENT = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True)"
TICKS = "import time\nwhile True: time.sleep(1)"  # wakes once a second, as the monitor does
SETTLED = 2.0  # seconds until a run is at rest


def trivial(room: Room) -> Iterator[Figure]:
    """A run of a program that does nothing, over that program; the floor is a parent in Python."""
    alone, suite = python("sleeper.py"), Suite(room.folder, "sleeper.py")
    found = in_turn(
        room.pick(1, 9, 25),
        {
            "run": lambda: suite.run().seconds,
            "alone": partial(seconds, alone),
            "parent": partial(seconds, [sys.executable, "-c", PARENT, *alone]),
        },
    )
    parent = tuple(mine - bare for mine, bare in zip(found["parent"], found["alone"], strict=True))
    more = tuple(mine - bare for mine, bare in zip(found["run"], found["alone"], strict=True))
    yield Figure(
        "run of a trivial program, over the program alone",
        "s",
        more,
        parent,
        "a parent in Python that starts it",
        relation="difference",
        goal=Goal(0.1, of_measured=True),
    )


def idle(room: Room) -> Iterator[Figure]:
    """The CPU time of all processes of a run but its programs, which sleep."""
    for_seconds = room.pick(0.5, 4.0, 15.0)
    ticking = subprocess.Popen([sys.executable, "-c", TICKS])
    time.sleep(room.pick(0.2, SETTLED, SETTLED))
    floor = _share([ticking.pid], for_seconds)
    ticking.kill()
    ticking.wait()
    figures = []
    sizes = room.pick([1], [8], [1, 8, 64])
    for size in sizes:
        share = _idle_share(room, size, for_seconds, on_terminal=False)
        figures.append(_idle_figure(f"{size} processes", share, floor))
    yield from with_growth(figures, sizes)
    for size in room.pick([], [8], [8, 64]):
        share = _idle_share(room, size, for_seconds, on_terminal=True)
        yield _idle_figure(f"{size} processes, live table", share, floor)


def _idle_figure(what: str, share: float, floor: float) -> Figure:
    return Figure(
        f"CPU of the harness while programs sleep: {what}",
        "% of a core",
        (share * 100,),
        (floor * 100,),
        "a thread that wakes once a second",
        relation="difference",
        goal=Goal(2.0, of_measured=True),
    )


def _idle_share(room: Room, size: int, for_seconds: float, *, on_terminal: bool) -> float:
    settled = room.pick(1.0, SETTLED, SETTLED) + size * 0.1
    suite = Suite(
        room.folder / f"idle-{size}-{on_terminal}",
        "sleeper.py",
        [f"{settled + for_seconds + 1:g}"],
        devices=size,
    )
    command = suite.command("run")
    with _terminal(on_terminal) as end:
        run = subprocess.Popen(
            command,
            env={**environment(), "TERM": "xterm-256color"},
            cwd=REPOSITORY,
            stdin=end,
            stdout=end,
            stderr=end,
        )
        time.sleep(settled)
        share = _share(list(_harness(run.pid)), for_seconds)
        run.wait()
    return share


@contextmanager
def _terminal(on_terminal: bool) -> Iterator[int]:
    """Where a command's streams go: to nowhere, or to a terminal with a reader."""
    if not on_terminal:
        yield subprocess.DEVNULL
        return
    reader, end = pty.openpty()

    def drain() -> None:
        with suppress(OSError):
            while os.read(reader, 1 << 16):
                pass

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        yield end
    finally:
        os.close(end)
        thread.join()
        os.close(reader)


def _harness(pid: int) -> Iterator[int]:
    """The processes of a run that are not its programs."""
    yield pid
    for child in psutil.Process(pid).children(recursive=True):
        if not any(word.endswith("sleeper.py") for word in child.cmdline()):
            yield child.pid


def _share(pids: Sequence[int], for_seconds: float) -> float:
    """The share of a core that processes take."""
    before, begin = sum(map(_cpu_seconds, pids)), time.monotonic()
    time.sleep(for_seconds)
    return (sum(map(_cpu_seconds, pids)) - before) / (time.monotonic() - begin)


def _cpu_seconds(pid: int) -> float:
    # The scheduler's own account, in ns: the ticks of /proc/PID/stat are too coarse here.
    used = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            used += int(re.split(r"\s+", path.read_text())[0])
    return used / 1e9
