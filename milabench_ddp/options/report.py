"""The options of the commands that read run folders."""

from dataclasses import dataclass

from .option import fail_on, names, node_counts, option, positive


@dataclass(frozen=True, kw_only=True)
class RunFolderOptions:
    """The options of ``watch`` and ``cancel``."""

    run: str = option("", "the run folder", is_positional=True, metavar="RUN")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of ``report``."""

    runs: tuple[str, ...] = option(
        (), "a run folder, a folder of runs or a glob; several runs are pooled, unless they differ",
        is_positional=True, nargs="+", metavar="RUN",
    )  # fmt: skip
    pool: bool = option(
        False, "pool runs that differ in version, commit, machine, configuration or preset",
        action="store_true",
    )  # fmt: skip
    compat: bool = option(False, "use exactly milabench's formulas", action="store_true")
    format: str = option(
        "text", "the format of the report: text, markdown, csv, json or html", metavar="FORMAT"
    )
    csv: bool = option(False, "short for --format csv", action="store_true")
    table: str | None = option(
        None,
        "show only this table: a metric of a sweep (latency, throughput, efficiency, memory, mfu, "
        "compile_s, ...), or the name of a table (steps, ranks, findings, ...)",
        metavar="TABLE",
    )
    sort: str | None = option(
        None, "the order of the benchmarks: name, fail, perf, drift, ms, mfu, std, memory; without "
        "it, that of the configuration", metavar="KEY",
    )  # fmt: skip
    width: int | None = option(
        None, "the width of the text in columns; without it, that of the terminal, COLUMNS, or 100",
        type=positive, metavar="N",
    )  # fmt: skip
    rows: tuple[str, ...] = option(
        (), "the settings whose values are the rows of the table",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    cols: tuple[str, ...] = option(
        (), "the settings whose values are the columns of the table",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    predict: tuple[int, ...] = option(
        (), "predict the step on so many nodes, or ranks, from those that were measured",
        type=node_counts, metavar="N[,N...]",
    )  # fmt: skip
    baseline: str | None = option(
        None, "the run folder that the score is relative to", metavar="RUN"
    )
    timeline: str | None = option(
        None, "write the steps of all ranks to this file, for ui.perfetto.dev, and nothing else",
        metavar="FILE",
    )  # fmt: skip
    plots: str | None = option(
        None, "write all charts to this folder, as SVG and PNG for papers, and nothing else",
        metavar="DIR",
    )  # fmt: skip
    select: tuple[str, ...] = option(
        (), "only these benchmarks in the timeline, the plots or the page: names or globs",
        type=names, action="extend", metavar="A,B",
    )  # fmt: skip
    html: str | None = option(
        None, "write the report to this file as a page for a browser, and nothing else",
        metavar="FILE",
    )  # fmt: skip
    open: bool = option(
        False, "write it as a page beside the results of the run, or to the file of --html, and "
        "open it in the browser",
        action="store_true",
    )  # fmt: skip
    overwrite: bool = option(
        False, "also replace files that milabench did not write", action="store_true"
    )
    config: str | None = option(
        None, "take the weights of the benchmarks from this configuration", metavar="CONFIG"
    )
    fail_on: str = fail_on()
