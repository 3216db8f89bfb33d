"""JSON objects, a line each, between a leader and a node agent: over a socket or two pipes."""

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..launch.lines import LineBuffer

Message = dict[str, Any]
_CHUNK = 1 << 16


class Channel:
    """One end. ``receive`` is for one thread, ``send`` for one other."""

    def __init__(self, read: int, write: int, close: Callable[[], None]) -> None:
        """Talk over these descriptors; ``close`` gives them back."""
        self.fd = read
        self._write, self._close = write, close
        self._lines = LineBuffer()
        self.closed = False

    @classmethod
    def of_socket(cls, connection: socket.socket, patience: float) -> "Channel":
        """Over a TCP connection; a peer that takes nothing for ``patience`` seconds is gone."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(patience * 1e3))

        def close() -> None:
            with suppress(OSError):  # the peer may be gone already
                connection.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
            connection.close()

        return cls(connection.fileno(), connection.fileno(), close)

    def send(self, **message: Any) -> bool:
        """Send a message; false where the peer is gone."""
        if self.closed:  # its descriptor may be another's by now
            return False
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._write, data) :]
        except OSError:
            return False
        return True

    def receive(self) -> list[Message] | None:
        """The messages that are there, blocking until something is; None: the peer is gone.

        A line that is no JSON object is left out: it is not of ours.
        """
        try:
            chunk = b"" if self.closed else os.read(self.fd, _CHUNK)
        except OSError:
            return None
        if not chunk:
            return None
        messages = []
        for line in self._lines.feed(chunk):
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    messages.append(message)
        return messages

    def close(self) -> None:
        """Give the descriptors back, once; the peer sees the end."""
        if not self.closed:
            self.closed = True
            with suppress(OSError):
                self._close()
