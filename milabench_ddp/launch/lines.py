"""Bytes as they arrive from a pipe -> whole lines."""

from collections.abc import Iterator

LONGEST = 1 << 20
"""Bytes of a line beyond which it is handed over in pieces: a program may never end its line."""


class LineBuffer:
    """Reassembles lines across reads."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes, each with its newline."""
        self._rest += chunk
        while (end := self._rest.find(b"\n")) >= 0:
            yield bytes(self._rest[: end + 1])
            del self._rest[: end + 1]
        if len(self._rest) > LONGEST:
            yield from self.flush()

    def flush(self) -> Iterator[bytes]:
        """What is left of a line that never ended."""
        if self._rest:
            yield bytes(self._rest)
            self._rest.clear()
