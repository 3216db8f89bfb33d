"""The options of ``history``."""

from dataclasses import dataclass

from .option import names, option, share


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
        0.01, "the smallest change that is told, such as 1%%", type=share, metavar="P%"
    )
    format: str = option("text", "the format: text, csv, json or html", metavar="FORMAT")
    csv: bool = option(False, "short for --format csv", action="store_true")
    fail_on: str | None = option(
        None, "end with exit code 1 if something is slower", choices=("slower",)
    )
