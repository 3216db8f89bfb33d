"""Stacks of Python threads as data: read from faulthandler and py-spy, and what a thread does."""

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path, PurePath

from msgspec import Struct, field

from ..codec import decode
from ..files import read_bytes

_MOST = 1 << 22  # bytes of a source file that are read


class Frame(Struct, frozen=True):
    """A call on a stack; in JSON by the names that py-spy has for its parts."""

    file: str = field(name="filename")
    line: int
    function: str = field(name="name")

    @property
    def is_torch(self) -> bool:
        return "/torch/" in self.file

    @property
    def communicates(self) -> bool:
        is_wait = self.function in ("synchronize", "wait")
        return self.is_torch and ("distributed" in self.file or is_wait)

    @property
    def is_library(self) -> bool:
        is_standard = "/lib/python3" in self.file and "-packages/" not in self.file
        return self.is_torch or is_standard or self.file.startswith("<frozen ")

    @property
    def source(self) -> str:
        with suppress(OSError, ValueError, IndexError):  # the program may have made up its name
            lines = read_bytes(Path(self.file), _MOST).splitlines()
            return lines[self.line - 1].decode(errors="backslashreplace").strip()
        return ""

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line} in {self.function}"


class _SpiedThread(Struct, frozen=True):
    """A thread, as py-spy tells it."""

    frames: Sequence[Frame]
    thread_name: str | None = None


Threads = Sequence[Sequence[Frame]]
"""The stack of each thread, its innermost call first; the main thread is the last."""

_FRAME = re.compile(r'^  File "(.*)", line (\d{1,9}) in (.*)$')
# Calls of torch that wait for other ranks, or for a device whose work does
_WAITING = re.compile(
    r"barrier|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|scatter|gather|reduce"
    r"|send|recv|rendezvous|process_group|new_group|wait|synchronize|_sync|_verify"
)
_ENGINE = "_engine_run_backward"  # in C++; the hooks that it calls are frames of their own
# Waits that C does at once, by the line that calls them
_CALLS_WAIT = re.compile(r"\.(wait|synchronize|item|tolist|cpu)\(|(?:^|= |return )(float)\(\w+\)")


def of_faulthandler(text: str) -> Threads:
    """The stacks that faulthandler wrote; the oldest thread, the main one, is its last."""
    threads: list[list[Frame]] = []
    for line in text.splitlines():
        if "(most recent call first):" in line:
            threads.append([])
        elif threads and (found := _FRAME.match(line)):
            threads[-1].append(Frame(found[1], int(found[2]), found[3]))
    return threads


def of_py_spy(text: str) -> Threads:
    """The stacks that ``py-spy dump --json`` printed; none if it failed."""
    try:
        told = decode(text, list[_SpiedThread])
    except (ValueError, RecursionError):
        return []
    told.sort(key=lambda thread: thread.thread_name == "MainThread")
    return [thread.frames for thread in told]


def active(threads: Threads) -> Sequence[Frame]:
    """The stack that says what a process does: that of its main thread; empty if it is not known.

    The backward pass on a GPU calls hooks in a thread that C++ made, which nothing of Python began.
    """
    main = threads[-1] if threads else ()
    if main and main[0].function == _ENGINE:
        for thread in threads[:-1]:
            if thread and thread[-1].function != "_bootstrap":
                return thread
    return main


def waits_in(stack: Sequence[Frame]) -> str:
    """The call in which a thread waits for other ranks or for the device; empty if it does not."""
    if not stack:
        return ""
    if not stack[0].is_library:
        found = _CALLS_WAIT.search(stack[0].source)
        return found[1] or found[2] if found else ""
    if stack[0].function == _ENGINE:
        return "backward"
    waits = ""
    for frame in takewhile(lambda frame: frame.is_torch, stack):
        if frame.communicates and _WAITING.search(frame.function):
            waits = frame.function  # of several the outermost, which the program has called
    return waits if stack[0].communicates else ""


def caller(stack: Sequence[Frame]) -> Frame | None:
    """The innermost call that is not of a library; the innermost of all without one."""
    for frame in stack:
        if not frame.is_library:
            return frame
    return stack[0] if stack else None
