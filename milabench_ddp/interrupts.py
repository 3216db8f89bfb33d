"""What a signal does to a command: it ends without a traceback, and cleans up.

While Python starts and ends, there is nothing to undo, and Ctrl-C ends the process at once. While a
command works, each signal is an exception, so that its temporary folders and children are removed.
After that the process ends, and further signals do not change its exit code. A run turns signals
into requests to stop: see ``launch/stop_requests.py``.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

_OF_FAULTS = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
_HARMLESS = {"SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH"}
_NEVER_CAUGHT = {"SIGKILL", "SIGSTOP"}


class EndedBySignal(BaseException):
    """A signal that ends the process by default arrived, other than that of Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number  # as shells tell it


def ending_signals() -> list[int]:
    """The signals that would end this process now, without those of faults of its own."""
    others = _OF_FAULTS | _HARMLESS | _NEVER_CAUGHT
    numbers = [number for number in signal.valid_signals() if signal_name(number) not in others]
    return [number for number in numbers if signal.getsignal(number) in (signal.SIG_DFL, _raise)]


def signal_name(number: int) -> str:
    """The name of a signal, such as ``SIGTERM``; ``signal 40`` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def leave_at_ctrl_c() -> None:
    """From now on Ctrl-C ends this process at once, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def raise_at_signals() -> None:
    """From now on Ctrl-C raises ``KeyboardInterrupt`` once, and other signals ``EndedBySignal``."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _interrupt)
    for number in ending_signals():
        signal.signal(number, _raise)


def ignore_signals() -> None:
    """From now on, as this process ends, signals are ignored; Ctrl-C ends it at once."""
    leave_at_ctrl_c()
    for number in ending_signals():
        signal.signal(number, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """End this process with an exit code, once all is done.

    Python is not finalized: a signal would have its default effect meanwhile, and 600 modules take
    some ms. What ``atexit`` has is done before.
    """
    atexit._run_exitfuncs()
    _exit(code)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    _exit(INTERRUPTED)


def _exit(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # it is closed, or flushes right now
            stream.flush()
    os._exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    ignore_signals()  # a second Ctrl-C does not wait for the cleanup
    raise KeyboardInterrupt


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    ignore_signals()
    raise EndedBySignal(number)
