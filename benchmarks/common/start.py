"""The start barrier: the processes of one launch begin to measure together."""

import os
import select
import time

from benchmarks.common.metrics import Emitter


def barrier(emitter: Emitter) -> None:
    """Say ``ready``, wait until all others are, say ``begin``.

    The supervisor opens the FIFO ``MILABENCH_START`` for writing and closes it again once everybody
    is ready; without the variable there is nobody to wait for and nothing is said.
    """
    path = os.environ.get("MILABENCH_START")
    if not path:
        return
    # Opened before ``ready`` is said: a supervisor that opens and closes at once is not missed.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        emitter.event("ready")
        poll = select.poll()
        poll.register(fd, select.POLLIN)  # POLLHUP, the end, is always reported
        while not (poll.poll()[0][1] & select.POLLHUP):
            os.read(fd, select.PIPE_BUF)
        emitter.event("begin", time=time.monotonic())
    finally:
        os.close(fd)
