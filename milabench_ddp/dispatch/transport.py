"""Messages over two pipes, as lines of JSON, and the threads that send heartbeats."""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from ..codec import decode, encode
from ..launch.metrics_channel import LineBuffer

_CHUNK = 1 << 16
Incoming = TypeVar("Incoming")


class Connection(Generic[Incoming]):
    """One end. ``receive`` is for one thread, ``send`` for any.

    Args:
        read: the descriptor to read from.
        write: the descriptor to write to.
        incoming: the union of the messages that may come.
        close: closes both descriptors.
        timeout: seconds after which a peer that takes nothing is gone.
    """

    def __init__(
        self,
        read: int,
        write: int,
        incoming: Any,
        close: Callable[[], None] = lambda: None,
        timeout: float = 20.0,
    ) -> None:
        self.fd = read
        self._write, self._incoming, self._close = write, incoming, close
        self._timeout = timeout
        self._lines = LineBuffer()
        self._sending = threading.Lock()
        self._unsent = b""  # the rest of a message that the peer took a part of
        self.is_closed = False
        # A peer behind a broken cable takes nothing: no thread may wait for it for ever.
        os.set_blocking(write, False)

    def send(self, message: object) -> bool:
        """Send a message; false where the peer is gone, or takes nothing for the timeout."""
        with self._sending:
            return self._send(message, self._timeout)

    def send_now(self, message: object) -> bool:
        """Send a heartbeat, if the peer takes it at once; whether it did.

        A thread that sends to many peers must not wait for one. Where another thread is sending,
        the peer hears that.
        """
        if not self._sending.acquire(blocking=False):
            return False
        try:
            return self._send(message, 0.0)
        finally:
            self._sending.release()

    def _send(self, message: object, timeout: float) -> bool:
        if self.is_closed:  # its descriptor may be another's by now
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
        """Write; what the peer has not taken until then."""
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
        """The messages that are there, blocking until something is; None: the peer is gone.

        A line that is no message is left out: a login shell may print what it likes.
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
                messages.append(decode(line, self._incoming))
        return messages

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self.fd, _CHUNK)
            except BlockingIOError:  # both directions are one socket, as sshd gives its commands
                _wait_for(self.fd, select.POLLIN)

    def close(self) -> None:
        """Close the descriptors, once; the peer sees the end."""
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
def heartbeats(beat: Callable[[], None], seconds: float) -> Iterator[None]:
    """For a block, let another thread call a function every so many seconds.

    A thread of its own, because a disk that hangs under the main one is not a death. The last call
    has ended when the block has.
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
