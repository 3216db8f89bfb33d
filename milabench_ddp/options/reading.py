"""The options of the commands that read run folders."""

from dataclasses import dataclass

from .option import (
    age,
    fail_on,
    fail_on_slower,
    format_option,
    names_option,
    node_counts,
    option,
    overwrite,
    positive,
    runs_option,
    share,
    whole,
)

RUNS = "run folders, folders of runs or globs; `latest` is the newest run, latest~1 the one before"


@dataclass(frozen=True, kw_only=True)
class RunFolderOptions:
    """The options of ``watch`` and ``cancel``."""

    run: str = option(
        "", "the run folder; `latest` is the newest run", is_positional=True, metavar="RUN"
    )


@dataclass(frozen=True, kw_only=True)
class RunsOptions:
    runs: tuple[str, ...] = runs_option("these runs; without it those in runs/", nargs="*")
    older_than: float | None = option(
        None, "only runs that ended so long ago, such as 30d; says what --remove would remove",
        type=age, metavar="AGE",
    )  # fmt: skip
    remove: bool = option(False, "remove them, but none that goes on")
    yes: bool = option(False, "remove them without a question")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    runs: tuple[str, ...] = runs_option(f"{RUNS}; several are pooled, unless they differ")
    table: str | None = option(
        None,
        "show only this table: a metric of a sweep (latency, throughput, efficiency, memory, mfu, "
        "compile_s, ...), or the name of a table (steps, ranks, findings, ...)",
        begins="what is shown", metavar="TABLE",
    )  # fmt: skip
    failures: bool = option(
        False, "show only the failures: what each printed last, and how to repeat it"
    )
    sort: str | None = option(
        None, "the order of the benchmarks: name, fail, perf, drift, ms, mfu, std, memory; without "
        "it, that of the configuration", metavar="KEY",
    )  # fmt: skip
    rows: tuple[str, ...] = names_option(
        "the settings whose values are the rows of the table", is_rare=True
    )
    cols: tuple[str, ...] = names_option(
        "the settings whose values are the columns of the table", is_rare=True
    )
    baseline: str | None = option(
        None, "the run folder that the score is relative to", metavar="RUN"
    )
    predict: tuple[int, ...] = option(
        (), "predict the step on so many nodes, or ranks, from those that were measured",
        is_rare=True, type=node_counts, metavar="N[,N...]",
    )  # fmt: skip
    compat: bool = option(False, "use exactly milabench's formulas", is_rare=True)
    pool: bool = option(
        False, "pool runs that differ in version, commit, machine, configuration or preset",
        is_rare=True,
    )  # fmt: skip
    config: str | None = option(
        None, "take the weights of the benchmarks from this configuration",
        is_rare=True, metavar="CONFIG",
    )  # fmt: skip
    format: str = format_option(
        "that of the report",
        "text",
        "markdown",
        "csv",
        "json",
        "html",
        begins="form and exit status",
    )
    width: int | None = option(
        None, "the width of the text in columns; without it, that of the terminal, COLUMNS, or 100",
        is_rare=True, type=positive, metavar="N",
    )  # fmt: skip
    fail_on: str = fail_on()
    open: bool = option(
        False, "write it as a page beside the results of the run, or to the file of --html, and "
        "open it in the browser", begins="instead of the text",
    )  # fmt: skip
    html: str | None = option(None, "write it to this file as a page for a browser", metavar="FILE")
    plots: str | None = option(
        None, "write all charts to this folder, as SVG and PNG for papers", metavar="DIR"
    )
    timeline: str | None = option(
        None, "write the steps of all ranks to this file, for ui.perfetto.dev", metavar="FILE"
    )
    select: tuple[str, ...] = names_option(
        "only these benchmarks in the timeline, the plots or the page: names or globs",
        is_rare=True,
    )
    overwrite: bool = overwrite()


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    before: str = option(
        "", "run folders, folders of runs or quoted globs, with commas between; `latest~1` is the "
        "run before the newest", is_positional=True, metavar="A",
    )  # fmt: skip
    after: str = option("", "the runs to compare them with", is_positional=True, metavar="B")
    threshold: float | None = option(
        None,
        "the smallest change that counts: slower and faster are by more than it, same is within it "
        "(default: any change counts, and same is within 3%%)",
        type=share, metavar="P%",
    )  # fmt: skip
    fail_on: str | None = fail_on_slower("a benchmark is slower, or gives a rate no more")
    history: tuple[str, ...] = option(
        (), "more runs, which tell how much launches differ", nargs="+", metavar="RUN"
    )
    pool: bool = option(
        False, "pool runs of a side that differ in version, machine, configuration or preset"
    )
    format: str = format_option("that of the comparison", "text", "markdown", "csv", "json", "html")
    plots: str | None = option(
        None, "write the ratios as a chart to this folder, as SVG and PNG, and nothing else",
        metavar="DIR",
    )  # fmt: skip
    overwrite: bool = overwrite()


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    runs: tuple[str, ...] = runs_option(RUNS)
    select: tuple[str, ...] = names_option("only these benchmarks: names or globs")
    threshold: float = option(
        0.01, "the smallest change that is told, such as 1%%", type=share, metavar="P%"
    )
    format: str = format_option("that of the history", "text", "csv", "json", "html")
    fail_on: str | None = fail_on_slower("something is slower")


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    runs: tuple[str, ...] = runs_option(RUNS)
    to: tuple[str, ...] = option(
        (), "the format, parquet or csv, and where: a folder gets a file for each table, a file "
        "that ends in .parquet or .csv gets one table",
        nargs=2, required=True, metavar=("FORMAT", "PATH"),
    )  # fmt: skip
    table: tuple[str, ...] = names_option(
        "only these tables: runs, benchmarks, ranks, steps, rates, samples, host_samples, "
        "events, findings; a file gets benchmarks without it"
    )
    overwrite: bool = overwrite()


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    runs: tuple[str, ...] = runs_option(f"{RUNS}; runs that come later are shown, too")
    port: int = option(
        8377,
        "the port on the loopback device; 0 takes one that is free",
        type=whole(0, 65535),
        metavar="N",
    )
