"""Sends and receives messages as lines of JSON over two pipes, and sends heartbeats."""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

from ..codec import decoder, encode
from ..launch.channel import LineBuffer
from .agent_process import AgentProcess

_CHUNK = 1 << 16
_LONGEST = 1 << 28  # bytes of a message, such as a launch of many processes with their environments
Incoming = TypeVar("Incoming")


class Connection(Generic[Incoming]):
    """One end of a connection. One thread may call ``receive``, and any thread ``send``.

    Args:
        incoming: the union of the types of incoming messages.
        timeout: seconds after which a peer that reads nothing counts as gone.
    """

    def __init__(
        self,
        read: int,
        write: int,
        incoming: object,
        close: Callable[[], None] = lambda: None,
        timeout: float = 20.0,
        process: AgentProcess | None = None,
    ) -> None:
        self.fd, self.process = read, process
        self._write, self._decode, self._close = write, decoder(incoming), close
        self._timeout = timeout
        self._lines = LineBuffer(_LONGEST)
        self._sending = threading.Lock()
        self._unsent = b""  # the rest of a message that was sent in part
        self.is_closed = False
        # A peer behind a broken cable reads nothing: no thread may wait for it for ever.
        os.set_blocking(write, False)

    def send(self, message: object) -> bool:
        """Send a message; false if the peer is gone, or reads nothing within the timeout."""
        with self._sending:
            return self._send(message, self._timeout)

    def send_now(self, message: object) -> bool:
        """Send a heartbeat without waiting; returns whether it was sent.

        A thread that sends to many peers must not wait for one of them. If another thread is
        sending, its message serves as a heartbeat.
        """
        if not self._sending.acquire(blocking=False):
            return False
        try:
            return self._send(message, 0.0)
        finally:
            self._sending.release()

    def _send(self, message: object, timeout: float) -> bool:
        if self.is_closed:  # its descriptor may have been given to another file
            return False
        deadline = time.monotonic() + timeout
        data = encode(message) + b"\n"
        try:
            self._unsent = self._write_until(deadline, self._unsent)
            if self._unsent:
                return False
            rest = self._write_until(deadline, data)
        except OSError:
            return False
        if len(rest) < len(data):
            self._unsent = rest
        return not rest

    def _write_until(self, deadline: float, data: bytes) -> bytes:
        """Write until a deadline; returns the rest that was not written."""
        while data:
            try:
                data = data[os.write(self._write, data) :]
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                _wait_for(self._write, select.POLLOUT, left)
        return data

    def receive(self) -> list[Incoming] | None:
        """Wait for messages and return them; None if the peer is gone.

        A line that is not a message is ignored, since a login shell may print any text.
        """
        try:
            chunk = b"" if self.is_closed else self._read()
        except OSError:
            return None
        if not chunk:
            return None
        messages = []
        for line in self._lines.feed(chunk):
            with suppress(ValueError):
                messages.append(self._decode(line))
        return messages

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self.fd, _CHUNK)
            except BlockingIOError:  # both directions are one socket, as for commands of sshd
                _wait_for(self.fd, select.POLLIN)

    def close(self) -> None:
        with self._sending:
            if self.is_closed:
                return
            self.is_closed = True
            with suppress(OSError):  # the peer may be gone already
                self._close()


def _wait_for(fd: int, event: int, seconds: float | None = None) -> None:
    poller = select.poll()
    poller.register(fd, event)
    poller.poll(None if seconds is None else seconds * 1e3)


@contextmanager
def heartbeats(beat: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call ``beat`` every so many seconds inside the block, from another thread.

    It has its own thread because a disk that blocks the main thread must not stop the heartbeats.
    The last call has ended before the block is left.
    """
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(seconds):
            beat()

    thread = threading.Thread(target=repeat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
