"""Every error that a user can cause and fix, drawn as a tree.

MilabenchError            printed as one message by cli.main, exit code 2
 ├─ ConfigError           the YAML is wrong; says file, line and key
 ├─ SelectionError        --select, --exclude or --override matches nothing
 ├─ MachineError          the devices asked for are not there
 ├─ PlanError             a benchmark cannot be laid out on these devices
 ├─ RunDirError           the run folder cannot be made, written or read
 ├─ PoolingError          runs that differ would be pooled
 └─ DispatchError         the cluster's scheduler, or a node, refuses or fails

PrepareError              data or an environment could not be made, exit code 1

A benchmark that fails is not an error: it is an ``Outcome`` (see events).
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager


class MilabenchError(Exception):
    """The base of every error that a user can cause and fix; ``str()`` is the message."""

    def told(self) -> str:
        return str(self)


class ConfigError(MilabenchError):
    """The configuration is wrong."""


class SelectionError(MilabenchError):
    """A selection, an exclusion or an override matches nothing."""


class MachineError(MilabenchError):
    """The devices that were asked for are not there."""


class PlanError(MilabenchError):
    """A benchmark cannot be laid out on these devices."""


class RunDirError(MilabenchError):
    """The run folder cannot be made, written or read."""


class PoolingError(MilabenchError):
    """Runs that differ would be pooled."""


class DispatchError(MilabenchError):
    """The cluster's scheduler, or a node, refuses or fails."""


class PrepareError(Exception):
    """Data or an environment could not be made; ``str()`` is the whole message."""


_REMEDIES: Mapping[int, str] = {
    errno.EMFILE: "`ulimit -n` says how many one process may have",
    errno.ENFILE: "this host has no more of them",
    errno.EAGAIN: "maybe no more processes can start (`ulimit -u`, or `pids.max`)",
    errno.EFBIG: "`ulimit -f` says how large a file may be",
    errno.E2BIG: "its arguments and its environment are too long together",
}


@contextmanager
def contained(tell: Callable[[Exception], object]) -> Iterator[None]:
    """Let an exception end this block and nothing else; ``tell`` gets it.

    So an error in one benchmark, a display or a finding does not end the others.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the others go on after any error
        tell(error)


@contextmanager
def disk_errors(doing: str, path: os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Name the file or the folder in an error of the system: ``cannot write a/b: Not a directory``.

    Raises:
        RunDirError: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        raise RunDirError(f"cannot {doing} {path}: {error.strerror or error}{advice}") from error


def reason_of(error: Exception) -> str:
    """Why something failed, as one sentence; an error that is not milabench's has its place."""
    if isinstance(error, MilabenchError):
        return str(error)
    return f"milabench itself failed: {_described(error)} ({_place(error)})"


def lacking(error: BaseException) -> str:
    """What the host lacks, if that is all that the error says; else an empty string."""
    if isinstance(error, MemoryError):
        return "there is not enough memory (`ulimit -v`, or the limit of a job or a container)"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"a thread cannot start: {_REMEDIES[errno.EAGAIN]}"
    return ""


def may_pass(error: Exception) -> bool:
    """Whether it may be gone next time: an error of the host or a bug, not a wrong request."""
    return isinstance(error, RunDirError) or not isinstance(error, MilabenchError)


def _described(error: BaseException) -> str:
    if said := lacking(error):
        return said
    if isinstance(error, ImportError) and error.__cause__ is not None:
        return _described(error.__cause__)  # numpy puts a page of advice before it
    if not isinstance(error, OSError) or error.errno is None:
        said = " ".join(str(error).split())
        return f"{type(error).__name__}: {said}" if said else type(error).__name__
    where = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
    remedy = _REMEDIES.get(error.errno)
    said = error.strerror or os.strerror(error.errno)
    return f"{said}{where}" + (f", {remedy}" if remedy else "")


def _place(error: Exception) -> str:
    """The innermost line of this package that the error came through: ``spawn.py:53``."""
    place, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not place or file.startswith(os.path.dirname(__file__)):  # noqa: PTH120 - no import
            place = f"{os.path.basename(file)}:{step.tb_lineno}"  # noqa: PTH119
        step = step.tb_next
    return place


_LONGEST_WORD = 200  # characters that are compared with known words
_MOST_WORDS = 12  # that are listed beside the one that is close


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``": did you mean `x`?"``, or an empty string if no known word is close."""
    near = _nearest(word, known)
    return f": did you mean `{near}`?" if near else ""


def one_of(word: str, known: Sequence[str]) -> str:
    """The known words, behind one that is close, or that one alone if there are many."""
    near = _nearest(word, known)
    words = ", ".join(known)
    if near and len(known) > _MOST_WORDS:
        return f"did you mean `{near}`?"
    return f"did you mean `{near}`, or one of {words}?" if near else f"choose from {words}"


def require_known(option: str, word: str, known: Iterable[str]) -> None:
    """Raise SelectionError if an option names what there is not."""
    names = list(known)
    if word not in names:
        raise SelectionError(f"{option} {word}: unknown; {one_of(word, names)}")


def _nearest(word: str, known: Iterable[str]) -> str:
    if len(word) > _LONGEST_WORD:
        return ""
    import difflib  # only errors need it

    return next(iter(difflib.get_close_matches(word, sorted(known), n=1)), "")


LONGEST_MESSAGE = 2000  # characters of what a program tells as its error


def shortened(text: str, most: int = 600) -> str:
    """A text of at most ``most`` characters: the middle of a longer one is left out."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} more characters ...] {text[-half:]}"


def count_text(count: int, noun: str) -> str:
    """``1 run``, ``1,024 runs``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def counts_text(counts: Mapping[str, int]) -> str:
    """``11 ok, 1 failed``; empty without any."""
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def shown_names(names: Sequence[str], most: int = 8) -> str:
    """The names in a sentence, the first ones if there are many: ``a, b, c and 4 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
