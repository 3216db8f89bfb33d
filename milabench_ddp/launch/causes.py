"""What went wrong first: of several failures of one launch, most follow from another.

When a rank ends, the others fail too, with a broken connection, and torchrun ends with 1. A rank
that a signal killed cannot say so; torchrun's summary names it, and the kernel counts the processes
that it killed because it was out of memory.
"""

import re
import signal

from msgspec import Struct

from ..events import OUT_OF_MEMORY, exit_reason
from ..hidden import SECRETS
from ..tracebacks import FRAME, GROUP, LAUNCHER_ERROR, LAUNCHER_LOG, OF_RANK, RAISED, TRACEBACK

_SUMMARY = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
_RANK = re.compile(r"^\s*rank\s*:\s*(\d+)")
_EXIT = re.compile(r"^\s*exitcode\s*:\s*(-?\d+)")
# torchrun ends the other ranks by SIGTERM, and a rank that waits for a lost one may abort itself.
_MAY_FOLLOW = (signal.SIGTERM, signal.SIGINT, signal.SIGABRT, signal.SIGPIPE)
_FOLLOWS = re.compile(
    r"connection (?:was )?(?:closed|reset|refused|aborted|lost|broke)|broken pipe|\bpeer\b"
    r"|remote (?:process|worker)|ncclRemoteError|\bNCCL (?:communicator|watchdog)"
    r"|Dist(?:Backend|Network|Store)Error|Rendezvous\w*Error|\btime(?:d |-)?out\b",
    re.IGNORECASE,
)

# Of the thread with which torch watches NCCL; it then aborts the rank.
WATCHDOG = "Watchdog caught collective operation timeout: "
_TIMEOUT = re.compile(
    rf"Rank (\d+)\] {WATCHDOG}"
    r"WorkNCCL\((?:SeqNum=(\d+), )?OpType=(\w+).* ran for (\d+) milliseconds"
)
_OF_TIME = re.compile(r"\btime(?:d |-)?out\b", re.IGNORECASE)
_KILLED = re.compile(r"killed by (?:SIGKILL|signal: Killed)")
LONGEST = 500  # characters of an exception in a reason
MOST_AFTER = 20  # lines behind the last exception; what prints more has gone on
MOST_OF_SUMMARY = 1 << 20  # lines of torchrun's summary
HOST_OUT_OF_MEMORY = "this host was out of memory, and its kernel killed a process"


def with_kernel(reason: str, oom_kills: int) -> str:
    """The reason of a failure; ``oom_kills``: processes that the kernel killed for memory."""
    if oom_kills > 0 and _KILLED.search(reason):
        return f"{reason}: {HOST_OUT_OF_MEMORY}"
    return reason


def may_follow(reason: str) -> bool:
    """Whether such a failure is often only the consequence of another one's.

    NCCL's errors are, unless it says that the memory of the device ran out.
    """
    return bool(_FOLLOWS.search(reason)) and not OUT_OF_MEMORY.search(reason)


def is_timeout(reason: str) -> bool:
    """Whether a rank waited in vain for another, which was still there: a lost one is noticed."""
    return may_follow(reason) and bool(_OF_TIME.search(reason))


def timed_out(line: str) -> str:
    """The rank and the collective of a time-out, from a line of stderr; empty if it tells none."""
    found = _TIMEOUT.search(line)
    if found is None:
        return ""
    rank, number, operation, ms = found.groups()
    which = f"{operation} (SeqNum {number})" if number else operation
    return f"rank {rank}: {which} timed out after {int(ms) / 1000:.0f} s"


class LastException(Struct):
    """The exception with which a program's stderr ends, or of several ranks the one that was first.

    Its message may have several lines. What torchrun raises says only that a rank has failed.
    """

    text: str = ""  # such as ``ValueError: no``
    rank: str = ""  # whose it is, if its lines are marked with it
    ranks: set[str] = set()  # that raised one
    _in_traceback: set[str] = set()  # by rank
    _lines_after: int = 0  # of another kind

    def heeds(self, text: str) -> bool:
        """Whether lines may be of an exception, or come soon after one."""
        if self._in_traceback or self._lines_after <= MOST_AFTER:
            return True
        return TRACEBACK in text or '  File "' in text

    def read(self, line: str) -> None:
        found = OF_RANK.match(line)
        rank, text = (found[1], found[2].removeprefix(" ")) if found else ("", line)
        text = GROUP.sub("", text).rstrip()
        if text == TRACEBACK or FRAME.match(text):
            self._in_traceback.add(rank)
        elif rank in self._in_traceback and text and not text[0].isspace():
            if LAUNCHER_LOG.match(text):
                return  # it may come between
            self._in_traceback.discard(rank)
            if RAISED.match(text) and not LAUNCHER_ERROR.match(text):
                self._add(rank, SECRETS.hide(text)[:LONGEST])  # none is cut in two
            elif LAUNCHER_ERROR.match(text):
                self._lines_after = -MOST_OF_SUMMARY
        elif text and not rank:
            self._lines_after += 1

    def _add(self, rank: str, text: str) -> None:
        self.ranks.add(rank)
        is_of_another = bool(self.text) and rank != self.rank
        if not is_of_another or (may_follow(self.text) and not may_follow(text)):
            self.text, self.rank, self._lines_after = text, rank, 0

    def reason(self, returncode: int) -> str:
        """The reason of an end with this exit status, which is 1 where an exception ends Python."""
        if returncode != 1 or not self.text or self._lines_after > MOST_AFTER:
            return exit_reason(returncode)
        return f"{f'rank {self.rank}: ' if self.rank else ''}{exit_reason(1)}: {self.text}"


class LauncherSummary(Struct):
    """The exit codes of the ranks, from the summary that torchrun prints when one failed."""

    exits: dict[int, int] = {}  # by rank, negative for a signal
    _has_begun: bool = False
    _rank: int | None = None

    def heeds(self, text: str) -> bool:
        return self._has_begun or _SUMMARY in text

    def read(self, line: str) -> None:
        if not self._has_begun:
            self._has_begun = line.startswith(_SUMMARY)
        elif found := _RANK.match(line):
            self._rank = int(found[1])
        elif self._rank is not None and (found := _EXIT.match(line)):
            self.exits.pop(self._rank, None)
            self.exits[self._rank] = int(found[1])

    @property
    def names_an_exit(self) -> bool:
        return bool(self.exits) and [*self.exits.values()][-1] >= 0

    @property
    def killed(self) -> str:
        return self._first_by_signal(_MAY_FOLLOW)

    def ended_first(self, exception: LastException) -> str:
        """The same, also for signals that may be the consequence of another rank's end.

        SIGTERM is torchrun's own, but not for the root cause, which it lists last. That may be a
        rank that ended without an exception, which the exceptions of the others only follow.
        """
        found = self._first_by_signal((signal.SIGTERM,))
        if found or not self.exits:
            return found
        rank, code = [*self.exits.items()][-1]
        is_silent = may_follow(exception.text) and not exception.ranks & {"", str(rank)}
        return f"rank {rank}: {exit_reason(code)}" if code < 0 or is_silent else ""

    def _first_by_signal(self, ignored: tuple[signal.Signals, ...]) -> str:
        for rank, code in sorted(self.exits.items()):
            if code < 0 and -code not in ignored:
                return f"rank {rank}: {exit_reason(code)}"
        return ""
