"""Sends and receives messages as lines of JSON over two pipes, and sends heartbeats.

Several nodes may share a pair of pipes, as the tasks of a job step of Slurm do. A line for or of
one of them begins with its label, as ``srun --label`` writes it: ``3: {...}``. A line without a
label is for all. srun cuts lines of more than 1,024 bytes, so a long message is sent in several
lines, of which all but the last end with a backslash.
"""

import os
import select
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from ..codec import decoder, encode
from ..launch.channel import LABEL, LineBuffer
from .agent_process import AgentProcess

_CHUNK = 1 << 16
_LONGEST = 1 << 28  # bytes of a message, such as a launch of many processes with their environments
_PIECE = 1000  # bytes of a line
Incoming = TypeVar("Incoming")


class Stream:
    """Both directions of the connections that share a pair of pipes.

    Args:
        timeout: seconds after which a peer that reads nothing counts as gone.
        own: the label of this end, at the end of one of several nodes.
    """

    def __init__(
        self,
        read: int,
        write: int,
        close: Callable[[], None] = lambda: None,
        timeout: float = 20.0,
        own: int | None = None,
    ) -> None:
        self.fd, self._own = read, own
        self.connections: list[Connection[Any]] = []
        self._write, self._close, self._timeout = write, close, timeout
        self._lines = LineBuffer(_LONGEST)
        self._sending = threading.Lock()
        self._unsent = b""  # the rest of a message that was sent in part
        self.is_closed = False
        # A peer behind a broken cable reads nothing: no thread may wait for it for ever.
        os.set_blocking(write, False)

    def send(self, message: object, label: int | None = None) -> bool:
        """Send a message; false if the peer is gone, or reads nothing within the timeout."""
        with self._sending:
            return self._send(message, label, self._timeout)

    def send_now(self, message: object) -> bool:
        """Send a heartbeat to all without waiting; returns whether it was sent.

        A thread that sends to many peers must not wait for one of them. If another thread is
        sending, its message serves as a heartbeat.
        """
        if not self._sending.acquire(blocking=False):
            return False
        try:
            return self._send(message, None, 0.0)
        finally:
            self._sending.release()

    def _send(self, message: object, label: int | None, timeout: float) -> bool:
        if self.is_closed:  # its descriptor may have been given to another file
            return False
        deadline = time.monotonic() + timeout
        text, start = encode(message), b"" if label is None else b"%d: " % label
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        data = start + (b"\\\n" + start).join(pieces) + b"\n"
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

    def receive(self) -> None:
        """Wait for lines, and give them to the connections; at the end, end all of them."""
        chunk = b""
        with suppress(OSError):
            chunk = b"" if self.is_closed else self._read()
        for line in self._lines.feed(chunk):
            found = LABEL.match(line)
            label, text = (int(found[1]), line[found.end() :]) if found else (None, line)
            for connection in self.connections:
                if label in (None, self._own, connection.label):
                    connection.take(text.removesuffix(b"\n"))
        if not chunk:
            for connection in self.connections:
                connection.has_ended = True

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


class Connection(Generic[Incoming]):
    """One end of a connection. One thread may call ``receive``, and any thread ``send``.

    Args:
        incoming: the union of the types of incoming messages.
        label: of the node among those that share the stream; None if it has it for itself.
    """

    def __init__(
        self,
        stream: Stream,
        incoming: object,
        label: int | None = None,
        process: AgentProcess | None = None,
    ) -> None:
        self.stream, self.label, self.process = stream, label, process
        self.has_ended = self.is_closed = False
        self._decode, self._messages, self._begun = decoder(incoming), list[Incoming](), bytearray()
        stream.connections.append(self)

    def send(self, message: object) -> bool:
        return not self.is_closed and self.stream.send(message, self.label)

    def take(self, line: bytes) -> None:
        """Take a line of the stream.

        One that is not a message is ignored, since a login shell may print any text.
        """
        if line.endswith(b"\\"):
            self._begun += line[:-1]
            return
        whole = bytes(self._begun + line)
        self._begun.clear()
        for text in dict.fromkeys((whole, line)):  # any text may have come before the line
            with suppress(ValueError):
                self._messages.append(self._decode(text))
                return

    def taken(self) -> list[Incoming]:
        """The messages that have come since the last call."""
        messages, self._messages = self._messages, []
        return messages

    def receive(self) -> list[Incoming] | None:
        """Wait for lines of its stream, and return its messages; None if the peer is gone."""
        self.stream.receive()
        return self.taken() or (None if self.has_ended else [])

    def close(self) -> None:
        self.has_ended = self.is_closed = True
        with suppress(ValueError):
            self.stream.connections.remove(self)
        if not self.stream.connections:
            self.stream.close()


class Streams:
    """The streams of many connections.

    Args:
        wake: a descriptor; when it is readable, ``wait`` ends.
    """

    def __init__(self, wake: int) -> None:
        self._all: tuple[Stream, ...] = ()  # another thread may read it
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ)

    def attach(self, connection: Connection[Incoming]) -> None:
        stream = connection.stream
        if stream not in self._all:
            self._all += (stream,)
            self._selector.register(stream.fd, selectors.EVENT_READ, stream)

    def detach(self, connection: Connection[Incoming]) -> None:
        """Close a connection, and its stream with the last one."""
        stream = connection.stream
        if stream.connections == [connection]:
            self._selector.unregister(stream.fd)
            self._all = tuple(each for each in self._all if each is not stream)
        connection.close()

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._all)

    def wait(self, timeout: float) -> bool:
        return bool(self._selector.select(timeout))

    def read(self) -> set[Stream]:
        """Read what has come; the streams that had something."""
        ready = {key.data for key, _ in self._selector.select(0) if key.data is not None}
        for stream in ready:
            stream.receive()
        return ready

    def close(self) -> None:
        self._selector.close()


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
