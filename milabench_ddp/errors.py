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

import difflib
from collections.abc import Iterable, Sequence


class MilabenchError(Exception):
    """The base of every error that a user can cause and fix; ``str()`` is the whole message."""


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``": did you mean `x`?"``, or an empty string if no known word is close."""
    near = difflib.get_close_matches(word, sorted(known), n=1)
    return f": did you mean `{near[0]}`?" if near else ""


def one_of(word: str, known: Sequence[str]) -> str:
    """The known words, behind one that is close: ``did you mean `x`, or one of w, x?``."""
    near = difflib.get_close_matches(word, sorted(known), n=1)
    words = ", ".join(known)
    return f"did you mean `{near[0]}`, or one of {words}?" if near else f"choose from {words}"


def shown_names(names: Sequence[str], most: int = 8) -> str:
    """The names in a sentence, the first ones if there are many: ``a, b, c and 4 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def spans(numbers: Iterable[int]) -> list[str]:
    """Numbers in ascending order, those in a row as their first and last: ``0``, ``3-7``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [f"{first}-{last}" if last > first else str(first) for first, last in found]
