"""Keeps the first and the last part of a process's output: a flood does not fill the disk."""

from bisect import bisect_left, bisect_right
from collections import deque

from msgspec.structs import replace

from ..errors import count_text
from ..events import Output
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
        self._last: deque[str] = deque()
        self._last_size = 0  # bytes, as all sizes
        self._lines_out = self._size_out = 0  # what is left out

    def keep(self, output: Output) -> Output | None:
        text = output.text
        if self._is_reached:
            self._remember(text)
            return None
        size = _size(text)
        if size <= self._most_first:
            self._most_first -= size
            return output
        self._is_reached = True
        most = _first_fitting(text, self._most_first)
        end = text.rfind("\n", 0, most) + 1
        if not end and _size(text.partition("\n")[0]) > self._most_last:
            end = most + text.startswith("\n", most)  # within a line that may never end
        first = text[:end] if not end or text[end - 1] == "\n" else f"{text[:end]}\n"
        self._remember(text[end:])
        last = size_text(self._most_last)
        said = f"max_output is {self._limit:g} MiB: only the last {last} after this are kept"
        return replace(output, text=f"{first}[milabench: {said}]\n")

    @property
    def left_out(self) -> str:
        if not self._size_out:
            return ""
        lines = count_text(self._lines_out, "line")
        return f"{lines} ({size_text(self._size_out)}) are left out"

    def rest(self) -> str:
        text = "".join(self._last)
        if _size(text) > self._most_last:
            least = _last_fitting(text, self._most_last)
            begin = text.find("\n", max(0, least - 1)) + 1
            if begin in (0, len(text)):  # its last line is longer
                begin = least
            self._leave_out(text[:begin])
            text = text[begin:]
        said = self.left_out
        return f"[milabench: {said} here]\n{text}" if said else text

    def _remember(self, text: str) -> None:
        self._last.append(text)
        self._last_size += _size(text)
        while self._last_size - _size(self._last[0]) >= self._most_last:
            first = self._last.popleft()
            self._last_size -= _size(first)
            self._leave_out(first)

    def _leave_out(self, text: str) -> None:
        self._lines_out += text.count("\n")
        self._size_out += _size(text)


def _first_fitting(text: str, size: int) -> int:
    return bisect_right(range(1, len(text) + 1), size, key=lambda end: _size(text[:end]))


def _last_fitting(text: str, size: int) -> int:
    return bisect_left(range(len(text)), -size, key=lambda begin: -_size(text[begin:]))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "backslashreplace"))
