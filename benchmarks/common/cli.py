"""What the command lines of the programs have in common."""

import argparse
import difflib
import re
from collections.abc import Callable, Iterable

from benchmarks.common.device import KINDS

_SUFFIX = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps descriptions as they are written, and shows the default of every option that has one.

    A help text itself says what happens without the option, if that is not a value.
    """

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or (action.nargs == 0 and action.default is False):
            return action.help
        return super()._get_help_string(action)


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows ``description`` (the program's docstring) and takes ``--device``."""
    made = argparse.ArgumentParser(description=description, formatter_class=_Formatter)
    made.add_argument(
        "--device",
        choices=KINDS,
        help="device to measure; by default the plan's, or by hand the accelerator, else the CPU",
    )
    return made


def positive(text: str) -> int:
    """An integer of at least 1."""
    return _at_least(1, text)


def natural(text: str) -> int:
    """An integer of at least 0."""
    return _at_least(0, text)


def positive_float(text: str) -> float:
    """A number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def byte_count(text: str) -> int:
    """Parse a number of bytes, such as ``1048576`` or ``1Mi``."""
    found = re.fullmatch(r"(\d+)(Ki|Mi|Gi|)", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of bytes, such as 512, 64Ki, 1Gi"
        )
    return int(found[1]) * _SUFFIX[found[2]]


def add_seconds(add: Callable[..., object], least: str) -> None:
    """Add ``--seconds`` by an ``add_argument``; the option ``least`` has the least steps then."""
    text = f"measure as many steps as take so long, by the warm-up, but at least {least}"
    add("--seconds", type=positive_float, help=f"{text}; by default just {least}")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, with similar names that are known."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f": did you mean {', '.join(near)}?" if near else ""
    return f"unknown {what} {name!r}{hint}"


def _at_least(least: int, text: str) -> int:
    value = int(text)
    if value < least:
        raise argparse.ArgumentTypeError(f"{text} is less than {least}")
    return value


# argparse names the type in its message for a text that is not a number.
positive.__name__ = natural.__name__ = "integer"
positive_float.__name__ = "number"
