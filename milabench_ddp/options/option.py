"""Declares an option of the command line once: its default, its type, its help."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import Field, field
from types import MappingProxyType
from typing import Any, TypeVar

from ..config.limits import SECONDS
from ..errors import shortened

T = TypeVar("T")


def option(
    default: T,
    help: str,
    *,
    is_positional: bool = False,
    begins: str = "",
    is_rare: bool = False,
    more: Mapping[str, object] = MappingProxyType({}),
    **keywords: object,
) -> T:
    """A field that the command line can set; its flag is its name.

    Args:
        default: its value if the command line does not give one; with False it has no value.
        help: completes the sentence "this option is ...", or says what to do.
        begins: the title of the group in the help that it and the next ones are in.
        is_rare: whether only ``--help all`` has it.
        more: the keywords of other flags that set it, by the flag.
    """
    if default is False:
        keywords["action"] = "store_true"
    if isinstance(choices := keywords.get("choices"), tuple) and "metavar" in keywords:
        help += f": {', '.join(choices)}"
    if default is not False and default not in (None, (), ""):
        shown = f"{default:g}" if isinstance(default, float) else default
        help += f" (default: {shown})"
    metadata = {
        "is_positional": is_positional,
        "begins": begins,
        "is_rare": is_rare,
        "more": more,
        "argparse": {"help": help, **keywords},
    }
    return field(default=default, metadata=metadata)


def arguments(option: Field[object]) -> Mapping[str, Mapping[str, Any]]:
    metadata = option.metadata
    own = {argument_name(option): metadata["argparse"]} if "argparse" in metadata else {}
    return {**own, **metadata["more"]}


def argument_name(option: Field[object]) -> str:
    """The option's name for argparse: ``--gpu-poll`` for the field ``gpu_poll``."""
    return option.name if option.metadata["is_positional"] else f"--{option.name.replace('_', '-')}"


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number of this range."""

    def read(text: str) -> int:
        digits = text.lstrip("0") or "0"
        if not text.isdecimal() or len(digits) > len(str(most)) or not least <= int(digits) <= most:
            raise _wrong(text, f"is not a whole number from {least} to {most:,}")
        return int(digits)

    return read


positive = whole(1, 10**6)


def seconds(text: str) -> float:
    """A number of seconds, from 0 to ``SECONDS``."""
    value = _number(text)
    if not 0 <= value <= SECONDS:
        raise _wrong(text, f"is not a number of seconds from 0 to {SECONDS:,}")
    return value


def age(text: str) -> float:
    """The seconds of an age such as ``12h``, ``30d`` or ``2w``."""
    unit = {"h": 3600, "d": 86400, "w": 7 * 86400}.get(text[-1:])
    if unit is None or not text[:-1].isdecimal():
        raise _wrong(text, "is not an age such as 12h, 30d or 2w")
    return seconds(text[:-1]) * unit


def percentage(text: str) -> float:
    """The fraction that ``1%`` states: more than 0 and less than 100 per cent."""
    value = _number(text.removesuffix("%")) / 100
    if not text.endswith("%") or not 0 < value < 1:
        raise _wrong(text, "is not a percentage such as 1%")
    return value


def share(text: str) -> float:
    """A share such as ``3%`` or ``0.03``, from 0 to less than 1."""
    value = _number(text.removesuffix("%"))
    if text.endswith("%"):
        value /= 100
    if not 0 <= value < 1:
        raise _wrong(text, "is not a share such as 3% or 0.03")
    return value


def node_counts(text: str) -> tuple[int, ...]:
    """The node counts in ``8,4,2,1``: each once, the largest first."""
    return tuple(sorted({positive(word.strip()) for word in text.split(",")}, reverse=True))


def nodes(text: str) -> tuple[int, ...] | tuple[str, ...]:
    """Node counts, or else the names in a list of nodes or in a file of such."""
    if not text or not (text[0].isalpha() or text[0] == "@"):
        return node_counts(text)
    from ..node_lists import listed_nodes  # few commands are given one

    try:
        found = listed_nodes(text)
    except ValueError as error:
        raise _wrong(text, str(error)) from None
    if not found:
        raise _wrong(text, "names no node")
    return found


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _wrong(text: str, why: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{shortened(text)!r} {why}")


def names_option(help: str, begins: str = "", *, is_rare: bool = False) -> tuple[str, ...]:
    return option(
        (), help, begins=begins, is_rare=is_rare, type=names, action="extend", metavar="A,B"
    )


def runs_option(help: str, nargs: str = "+") -> tuple[str, ...]:
    return option((), help, is_positional=True, nargs=nargs, metavar="RUN")


def format_option(help: str, *formats: str, begins: str = "") -> str:
    csv = {"dest": "format", "action": "store_const", "const": "csv", "help": "as --format csv"}
    return option(
        "text", help, begins=begins, choices=formats, metavar="FORMAT", more={"--csv": csv}
    )


def fail_on() -> str:
    return option(
        "error", "exit status 1 if there is a finding so serious",
        choices=("none", "warning", "error"), metavar="LEVEL",
    )  # fmt: skip


def fail_on_slower(what: str) -> str | None:
    return option(None, f"end with exit status 1 if {what}", choices=("slower",))


def overwrite() -> bool:
    return option(False, "also replace files that milabench did not write")
