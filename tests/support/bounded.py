"""Bounds the time and the memory of a block, so that a hang is an error like any other."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_AS, getrlimit, setrlimit
from types import FrameType

CPU_SECONDS = 20  # for blocks that take some ms, or a second at most
WALL_SECONDS = 60  # only bounds a wait that does not end
MEMORY = 2 << 30  # bytes


class UnboundedError(BaseException):
    """It takes longer than it may; no handler of errors catches it."""


@contextmanager
def bounded() -> Iterator[None]:
    """Raise UnboundedError if the block takes too long, and MemoryError if it takes too much.

    The bound is on the CPU time of this process, so that a busy machine makes no difference.
    """
    began = time.process_time()

    def stop(number: int, _frame: FrameType | None) -> None:
        kind = "CPU time" if number == signal.SIGPROF else "waiting"
        raise UnboundedError(f"{time.process_time() - began:.0f} s of CPU time: too much {kind}")

    soft, hard = getrlimit(RLIMIT_AS)
    before = [signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)]
    outer, _ = signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    setrlimit(RLIMIT_AS, (_address_space() + MEMORY, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, outer)  # that of pytest-timeout, from its start
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * 4096
