"""Start all processes of a launch at the same moment, and tell when each executed its program."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..plan.launch import Process

_START_LATCH = str(Path(__file__).with_name("start_latch.py"))
_NOTICE_NS = (
    20_000_000  # enough for every process to read the moment of the release before that moment
)


@dataclass(frozen=True)
class Spawned:
    """A process that executed its program, or failed to."""

    process: Process  # with its whole environment
    popen: subprocess.Popen[bytes]
    started: float  # when it executed its program: monotonic, in seconds
    error: str  # why it failed to; empty if it did not


def spawn(processes: Sequence[Process]) -> list[Spawned]:
    """Start the processes; the ``env`` of each is its whole environment.

    Each leads a session of its own, so that only the supervisor gets the terminal's Ctrl-C.
    """
    release_read, release_write = os.pipe()
    reports: list[int] = []
    popens: list[subprocess.Popen[bytes]] = []
    try:
        for process in processes:
            report_read, report_write = os.pipe()
            reports.append(report_read)
            try:
                popens.append(_start_latched(process, release_read, report_write))
            finally:
                os.close(report_write)
        for fd in reports:
            os.read(fd, 1)  # returns once it waits at the latch, or has ended
        moment = time.monotonic_ns()
        if len(processes) > 1:
            moment += _NOTICE_NS
        os.write(release_write, b"%020d" % moment * len(processes))
        return list(map(_read_report, processes, popens, reports))
    except BaseException:
        for popen in popens:
            popen.kill()  # it still waits at the latch: nothing of the program runs yet
            popen.wait()
        raise
    finally:
        for fd in (release_read, release_write, *reports):
            os.close(fd)


def _start_latched(process: Process, release: int, report: int) -> subprocess.Popen[bytes]:
    """Start a process at the latch, with its ends of the two pipes."""
    lc_ctype = process.env.get("LC_CTYPE", "")
    latch = [sys.executable, "-I", "-S", _START_LATCH, str(release), str(report), lc_ctype]
    return subprocess.Popen(
        [*latch, *process.argv],
        env=dict(process.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(release, report),
        start_new_session=True,
    )


def _read_report(process: Process, popen: subprocess.Popen[bytes], fd: int) -> Spawned:
    """Wait for the end of its report: then it has executed its program, or failed to."""
    report, program = b"", process.argv[0]
    while chunk := os.read(fd, 64):
        report += chunk
    stamp, _, code = report.partition(b"!")
    if not stamp:
        return Spawned(process, popen, time.monotonic(), f"{program} ended before it was started")
    error = f"cannot execute {program}: {os.strerror(int(code))}" if code else ""
    return Spawned(process, popen, int(stamp) / 1e9, error)
