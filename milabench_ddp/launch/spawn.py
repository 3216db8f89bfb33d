"""Start all processes of a launch at the same moment, and know when each became its program."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_GATE = str(Path(__file__).with_name("gate.py"))
_LEAD_NS = 20_000_000  # time for every process to hear when the gate opens, before it does


@dataclass(frozen=True)
class Order:
    """One process to start: its words and its whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Spawned:
    """A process that became its program, or could not (``error`` says why)."""

    popen: subprocess.Popen[bytes]
    began: float  # monotonic, in seconds
    error: str


def spawn(orders: Sequence[Order]) -> list[Spawned]:
    """Start them; each leads a session of its own, so that the terminal's Ctrl-C is ours alone."""
    go_read, go_write = os.pipe()
    tells: list[int] = []
    popens: list[subprocess.Popen[bytes]] = []
    try:
        for order in orders:
            tell_read, tell_write = os.pipe()
            tells.append(tell_read)
            try:
                popens.append(_at_gate(order, go_read, tell_write))
            finally:
                os.close(tell_write)
        for fd in tells:
            os.read(fd, 1)  # it is at the gate, or has ended
        moment = time.monotonic_ns() + (_LEAD_NS if len(orders) > 1 else 0)
        os.write(go_write, b"%020d" % moment * len(orders))
        told = [_read_to_end(fd) for fd in tells]
    except BaseException:
        for popen in popens:
            popen.kill()  # still at the gate: nothing of the program runs yet
            popen.wait()
        raise
    finally:
        for fd in (go_read, go_write, *tells):
            os.close(fd)
    pairs = zip(orders, popens, told, strict=True)
    return [_result(order, popen, text) for order, popen, text in pairs]


def _at_gate(order: Order, go: int, tell: int) -> subprocess.Popen[bytes]:
    had_ctype = str(int("LC_CTYPE" in order.env))
    gate = [sys.executable, "-I", "-S", _GATE, str(go), str(tell), had_ctype]
    return subprocess.Popen(
        [*gate, *order.argv],
        env=dict(order.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(go, tell),
        start_new_session=True,
    )


def _read_to_end(fd: int) -> bytes:
    parts = []
    while chunk := os.read(fd, 64):
        parts.append(chunk)
    return b"".join(parts)


def _result(order: Order, popen: subprocess.Popen[bytes], told: bytes) -> Spawned:
    stamp, _, code = told.partition(b"!")
    began = int(stamp) / 1e9 if stamp else time.monotonic()
    if not stamp:
        return Spawned(popen, began, f"{order.argv[0]} ended before it began")
    if not code:
        return Spawned(popen, began, "")
    why = os.strerror(int(code)) if int(code) else errno.errorcode[errno.EIO]
    return Spawned(popen, began, f"cannot execute {order.argv[0]}: {why}")
