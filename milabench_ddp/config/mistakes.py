"""Mistakes in a configuration: each shows its place in the file, and all are told at once."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from textwrap import indent
from types import TracebackType

from ..errors import ConfigError, MilabenchError, SelectionError
from ..hidden import hide
from ..secrets import is_secret
from ..visible import in_line
from ..wrapped import width_of
from .tree import Origin

MOST = 30  # mistakes that are shown
_WIDTH = 100  # characters of a line that are shown
_WORD = re.compile(r"""[\w-]+""")


class MistakeError(ConfigError):
    """A mistake that stands somewhere in a file.

    Args:
        word: the word of that line that is wrong; without one, it is the value.
    """

    def __init__(self, message: str, origin: Origin, word: str = "") -> None:
        super().__init__(message)
        self.origin, self.word = origin, word

    def told(self) -> str:
        return "\n".join([str(self), *_excerpt(self.origin, self.word)])


class MistakesError(ConfigError):
    """Several at once."""

    def __init__(self, errors: Sequence[MilabenchError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = tuple(errors)

    def told(self) -> str:
        shown = [indent(each.told(), "  ") for each in self.errors[:MOST]]
        left = len(self.errors) - MOST
        if left > 0:
            shown.append(f"  and {left} more")
        return "\n".join([f"{len(self.errors)} mistakes:", *shown])


_FOUND: ContextVar[list[MilabenchError] | None] = ContextVar("found", default=None)


@contextmanager
def collected() -> Iterator[None]:
    """Raise at the end every mistake that an `Apart` within has kept, and the one that ends it."""
    found: list[MilabenchError] = []
    token = _FOUND.set(found)
    try:
        yield
    except (ConfigError, SelectionError) as error:
        found += _parts(error)
    finally:
        _FOUND.reset(token)
    if found:
        raise together(found)


class Apart:
    """A block that a mistake ends alone, within `collected`; elsewhere the mistake is raised."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        found = _FOUND.get()
        if found is None or not isinstance(error, MistakeError | MistakesError | SelectionError):
            return False
        found += _parts(error)
        return True


def keep(error: MilabenchError) -> None:
    """Keep a mistake until the end of `collected`; elsewhere raise it."""
    with Apart():
        raise error


def together(errors: Sequence[MilabenchError]) -> MilabenchError:
    """The mistakes as one error, each once, in the order of their lines; a single one itself."""
    once = list({str(error): error for error in errors}.values())
    files = [error.origin.source for error in once if isinstance(error, MistakeError)]

    def place(error: MilabenchError) -> tuple[int, int]:
        if not isinstance(error, MistakeError):
            return -1, 0
        return files.index(error.origin.source), error.origin.line

    return MistakesError(sorted(once, key=place)) if len(once) > 1 else once[0]


def _parts(error: MilabenchError) -> Sequence[MilabenchError]:
    return error.errors if isinstance(error, MistakesError) else (error,)


def _excerpt(origin: Origin, word: str) -> list[str]:
    """The line with a caret below the mistake; nothing if the file no longer has that line."""
    try:
        if not origin.column or not Path(origin.source).is_file():  # not a pipe, which is read
            return []
        lines = ["", *Path(origin.source).read_text("utf-8-sig").replace("\t", " ").split("\n")]
        before, line = lines[origin.line - 1 :][:2]
    except (OSError, ValueError):
        return []
    text, column = in_line(line), len(in_line(line[: origin.column - 1]))
    # what ends the line before may be the name of what stands here
    names = [*_WORD.findall(before)[-1:], *_WORD.findall(text)]
    if hide(line) != line or any(map(is_secret, names)):
        return []
    if word:
        places = [
            each.start() for each in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)
        ]
        # the last one that begins before: a key stands before its value, whose column this is
        earlier = [each for each in places if each <= column]
        column = (earlier[-1:] or places or [column])[0]
    first = max(0, column - _WIDTH // 2) if column >= _WIDTH else 0
    blanks = " " * width_of(text[first:column])
    shown = text[first : first + _WIDTH].rstrip()
    return [f"{origin.line:>6} | {shown}", f"{'|':>8} {blanks}^"]
