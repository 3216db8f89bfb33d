"""The options of ``history``."""

from argparse import ArgumentTypeError
from dataclasses import dataclass

from .option import names, option


def share(text: str) -> float:
    """A share, such as ``1%`` or ``0.01``."""
    number, scale = (text[:-1], 100) if text.endswith("%") else (text, 1)
    try:
        value = float(number) / scale
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"{text!r} is not a share such as 1%")
    return value


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """The options of ``history``."""

    runs: tuple[str, ...] = option(
        (), "a run folder, a folder that holds runs, or a glob of these",
        is_positional=True, nargs="+", metavar="RUNS",
    )  # fmt: skip
    select: tuple[str, ...] = option(
        (), "only these benchmarks: names or globs", type=names, action="extend", metavar="A,B"
    )
    threshold: float = option(
        0.01, "the smallest change that is told, such as 1%%", type=share, metavar="SHARE"
    )
    format: str = option("text", "the format: text, csv or json", metavar="FORMAT")
    csv: bool = option(False, "short for --format csv", action="store_true")
    fail_on: str | None = option(
        None, "end with exit code 1 if something is slower", choices=("slower",)
    )
