"""JSON objects, a line each, between a leader and a node agent: over a socket or two pipes."""

import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..launch.metrics_channel import LineBuffer

Message = dict[str, Any]
_CHUNK = 1 << 16


class Channel:
    """One end. ``receive`` is for one thread, ``send`` for any.

    Args:
        read, write: the descriptors to talk over.
        close: gives them back.
        wake: ends what another thread does with them.
    """

    def __init__(
        self,
        read: int,
        write: int,
        close: Callable[[], None],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.fd = read
        self._write, self._close, self._wake = write, close, wake
        self._lines = LineBuffer()
        self._sending = threading.Lock()
        self.closed = False

    @classmethod
    def of_socket(cls, connection: socket.socket, patience: float) -> "Channel":
        """Over a TCP connection; a peer that takes nothing for ``patience`` seconds is gone."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(patience * 1e3))
        fd = connection.fileno()
        return cls(fd, fd, connection.close, lambda: connection.shutdown(socket.SHUT_RDWR))

    def send(self, **message: Any) -> bool:
        """Send a message; false where the peer is gone."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._sending:
            if self.closed:  # its descriptor may be another's by now
                return False
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
        if self.closed:
            return
        self.closed = True
        with suppress(OSError):  # the peer may be gone already
            self._wake()
        with self._sending, suppress(OSError):
            self._close()
