"""The options of the command that writes tables."""

from dataclasses import dataclass

from .option import names, option


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of ``export``."""

    runs: tuple[str, ...] = option(
        (), "a run folder, a folder of runs or a glob",
        is_positional=True, nargs="+", metavar="RUN",
    )  # fmt: skip
    to: tuple[str, ...] = option(
        (), "the format, parquet or csv, and where: a folder gets a file for each table, a file "
        "that ends in .parquet or .csv gets one table",
        nargs=2, required=True, metavar=("FORMAT", "PATH"),
    )  # fmt: skip
    table: tuple[str, ...] = option(
        (), "only these tables: runs, benchmarks, ranks, steps, rates, samples, host_samples, "
        "events, findings; a file gets benchmarks without it",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    overwrite: bool = option(
        False, "also replace files that milabench did not write", action="store_true"
    )
