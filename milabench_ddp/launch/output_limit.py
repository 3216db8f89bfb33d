"""Keeps the first and the last part of a process's output: a flood does not fill the disk."""

from collections import deque

from ..errors import count_text
from ..table import size_text

_MIB = 2**20
_LAST_SHARE = 1 / 8  # of the limit, for the last part
_MOST_LAST = _MIB  # bytes; the last part is in memory until the process ends


class OutputLimit:
    """The part of a process's stream that is kept, with a sentence where text is left out.

    Args:
        limit: MiB that are kept at most, in whole lines unless they are longer.
    """

    def __init__(self, limit: float) -> None:
        self._limit, whole = limit, int(limit * _MIB)
        self._most_last = min(int(whole * _LAST_SHARE), _MOST_LAST)
        self._most_first = whole - self._most_last
        self._is_reached = False
        self._last: deque[bytes] = deque()
        self._last_size = 0  # bytes, as all sizes
        self._lines_out = self._size_out = 0  # what is left out

    def keep(self, text: str) -> str:
        """The part of a text that is to be written now."""
        told = text.encode()
        if self._is_reached:
            self._remember(told)
            return ""
        if len(told) <= self._most_first:
            self._most_first -= len(told)
            return text
        self._is_reached = True
        end = told.rfind(b"\n", 0, self._most_first) + 1
        if not end and len(told.partition(b"\n")[0]) > self._most_last:
            end = self._most_first  # within a line that may never end
        first = _text(told[:end])
        if first and not first.endswith("\n"):
            first += "\n"
        self._remember(told[end:])
        last = size_text(self._most_last)
        said = f"max_output is {self._limit:g} MiB: only the last {last} after this are kept"
        return f"{first}[milabench: {said}]\n"

    @property
    def left_out(self) -> str:
        if not self._size_out:
            return ""
        lines = count_text(self._lines_out, "line")
        return f"{lines} ({size_text(self._size_out)}) are left out"

    def rest(self) -> str:
        told = b"".join(self._last)
        least = len(told) - self._most_last
        if least > 0:
            begin = told.find(b"\n", least - 1) + 1
            if begin in (0, len(told)):  # its last line is longer
                begin = least
            self._leave_out(told[:begin])
            told = told[begin:]
        said = self.left_out
        return f"[milabench: {said} here]\n{_text(told)}" if said else _text(told)

    def _remember(self, told: bytes) -> None:
        self._last.append(told)
        self._last_size += len(told)
        while self._last_size - len(self._last[0]) >= self._most_last:
            first = self._last.popleft()
            self._last_size -= len(first)
            self._leave_out(first)

    def _leave_out(self, told: bytes) -> None:
        self._lines_out += told.count(b"\n")
        self._size_out += len(told)


def _text(told: bytes) -> str:
    return told.decode("utf-8", "backslashreplace")  # a limit may cut a letter in two
