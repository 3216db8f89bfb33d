"""The options of ``serve``."""

from argparse import ArgumentTypeError
from dataclasses import dataclass

from .option import option

PORT = 8377
_LARGEST = 65535


def port(text: str) -> int:
    """The number of a port; 0 is one that is free."""
    if not text.isdecimal() or int(text) > _LARGEST:
        raise ArgumentTypeError(f"{text!r} is not a port: a whole number up to {_LARGEST}")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of ``serve``."""

    runs: tuple[str, ...] = option(
        (), "a run folder, a folder of runs or a glob; runs that come later are shown, too",
        is_positional=True, nargs="+", metavar="RUN",
    )  # fmt: skip
    port: int = option(
        PORT, "the port on the loopback device; 0 takes one that is free", type=port, metavar="N"
    )
