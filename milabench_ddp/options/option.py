"""An option of a command, as a field that declares default, parser, help and flag once."""

from argparse import ArgumentTypeError
from dataclasses import Field, field
from typing import Any, TypeVar

from ..config.limits import SECONDS
from ..errors import shortened

T = TypeVar("T")

LEAST_INTERVAL = 0.01  # seconds: faster samples fill the disk with the same values


def option(
    default: T,
    help: str,
    *,
    is_positional: bool = False,
    is_fixed: bool = False,
    **keywords: object,
) -> T:
    """A field that the command line can set; its flag is its name.

    Args:
        default: its value if the command line does not give one.
        help: completes the sentence "this option is ...", or says what to do.
        is_positional: whether it is an argument without a flag.
        is_fixed: whether it is fixed when a run is created, so that ``--resume`` refuses it.
        keywords: for ``ArgumentParser.add_argument``.
    """
    if default not in (None, (), False, ""):
        shown = f"{default:g}" if isinstance(default, float) else default
        help += f" (default: {shown})"
    made: T = field(
        default=default,
        metadata={
            "is_positional": is_positional,
            "is_fixed": is_fixed,
            "argparse": {"help": help, **keywords},
        },
    )
    return made


def argument_name(option: Field[Any]) -> str:
    """The option's name for argparse: ``--gpu-poll`` for the field ``gpu_poll``."""
    return option.name if option.metadata["is_positional"] else f"--{option.name.replace('_', '-')}"


def positive(text: str, most: int = 10**6) -> int:
    """A whole number of at least 1, and of at most ``most``."""
    digits = text.lstrip("0")
    if not text.isdecimal() or not digits:
        raise ArgumentTypeError(f"{shortened(text)!r} is not a whole number of at least 1")
    if len(digits) > len(str(most)) or int(digits) > most:
        raise ArgumentTypeError(f"{shortened(text)!r} is more than {most:,}")
    return int(digits)


def integer(text: str) -> int:
    """A whole number that fits into 64 bits, as those in JSON do."""
    try:
        value = int(text) if len(text) <= len(str(-(2**63))) else None
    except ValueError:
        value = None
    if value is None or not -(2**63) <= value < 2**63:
        raise ArgumentTypeError(f"{shortened(text)!r} is not a whole number of 64 bits")
    return value


def seconds(text: str) -> float:
    """A number of seconds, from 0 to ``SECONDS``."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds")
    if value > SECONDS:
        raise ArgumentTypeError(f"{shortened(text)!r} is more than {SECONDS:,} seconds")
    return value


def interval(text: str) -> float:
    """A number of seconds between two samples; 0 for none."""
    value = seconds(text)
    if 0 < value < LEAST_INTERVAL:
        raise ArgumentTypeError(f"{shortened(text)!r} is less than {LEAST_INTERVAL:g} seconds")
    return value


def percentage(text: str) -> float:
    """The fraction that ``1%`` states: more than 0 and less than 100 per cent."""
    number, sign, rest = text.partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = 0.0
    if not sign or rest or not 0 < value < 1:
        raise ArgumentTypeError(f"{shortened(text)!r} is not a percentage such as 1%")
    return value


def node_counts(text: str) -> tuple[int, ...]:
    """The node counts in ``8,4,2,1``: each once, the largest first."""
    return tuple(sorted({positive(word.strip()) for word in text.split(",")}, reverse=True))


def names(text: str) -> list[str]:
    """The names in ``a,b``."""
    return [name.strip() for name in text.split(",") if name.strip()]


def fail_on() -> str:
    """The option of every command that ends with the exit code of a report."""
    return option(
        "error", "end with exit code 1 also if there is such a finding, or a worse one",
        choices=("none", "warning", "error"),
    )  # fmt: skip


def share(text: str) -> float:
    """A share such as ``3%`` or ``0.03``, from 0 to less than 1."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"{shortened(text)!r} is not a share such as 3% or 0.03")
    return value
