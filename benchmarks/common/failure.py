"""A program that fails reports its error and its rank on the metrics channel before it ends."""

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.common import stacks
from benchmarks.common.metrics import Emitter

MESSAGE_LIMIT = 1000  # bytes of JSON; message, trace and keys together stay below a line's 4096
TRACE_LIMIT = 2600


class UnsupportedError(Exception):
    """The options ask for something that is not possible here; its text is one sentence."""


class SkippedError(UnsupportedError):
    """The devices do not have, or their number does not allow, what is to be measured.

    The benchmark is then skipped, and has not failed.
    """


def instead(ranks: int, can: Callable[[int], bool]) -> str:
    """The nearest numbers of ranks that ``can``, as the end of a sentence: ``6 or 8 can``."""
    fewer = next(filter(can, range(ranks - 1, 0, -1)), None)
    more = next(filter(can, range(ranks + 1, 2 * ranks + 1)), None)
    found = " or ".join(str(number) for number in (fewer, more) if number)
    return f"{found} can" if found else "no number can"


@contextmanager
def reported(emitter: Emitter) -> Iterator[None]:
    """Send an ``error`` event for an exception of the block, then raise it again.

    The exception ends the program with its traceback on stderr and exit status 1. An
    ``UnsupportedError`` ends it with its sentence alone and exit status 2; the event of a
    ``SkippedError`` also has ``skip``. An intended exit (``SystemExit``, an interrupt) is not an
    error.
    """
    try:
        yield
    except UnsupportedError as error:
        _report(emitter, error, trace="")
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except Exception as error:
        stacks.show_failure(error)
        _report(emitter, error, trace="".join(traceback.format_exception(error)))
        stacks.wait_for_look(error)
        raise


def head(text: str, limit: int) -> str:
    """The beginning of ``text`` that takes at most ``limit`` bytes as JSON."""
    while len(json.dumps(text)) > limit:
        text = text[: len(text) * 9 // 10]
    return text


def tail(text: str, limit: int) -> str:
    """The end of ``text`` that takes at most ``limit`` bytes as JSON."""
    while len(json.dumps(text)) > limit:
        text = text[len(text) // 10 + 1 :]
    return text


def _report(emitter: Emitter, error: Exception, trace: str) -> None:
    skip = {"skip": True} if isinstance(error, SkippedError) else {}
    emitter.event(
        "error",
        type=type(error).__name__[:100],
        message=head(str(error), MESSAGE_LIMIT),
        trace=tail(trace, TRACE_LIMIT),
        rank=emitter.rank,
        **skip,
    )
