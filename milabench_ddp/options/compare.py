"""The options of ``compare``."""

from dataclasses import dataclass

from .option import option, share


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of ``compare``."""

    before: str = option(
        "", "a run folder, a folder of runs, a quoted glob, or several, with commas between",
        is_positional=True, metavar="A",
    )  # fmt: skip
    after: str = option("", "the runs to compare them with", is_positional=True, metavar="B")
    threshold: float | None = option(
        None,
        "the smallest change that counts: slower and faster are by more than it, same is within it "
        "(default: any change counts, and same is within 3%%)",
        type=share, metavar="P%",
    )  # fmt: skip
    fail_on: str | None = option(
        None, "end with exit code 1 if a benchmark is slower, or gives a rate no more",
        choices=("slower",),
    )  # fmt: skip
    history: tuple[str, ...] = option(
        (), "more runs, which tell how much launches differ",
        nargs="+", metavar="RUN",
    )  # fmt: skip
    pool: bool = option(
        False, "pool runs of a side that differ in version, machine, configuration or preset",
        action="store_true",
    )  # fmt: skip
    format: str = option(
        "text", "the format of the comparison: text, markdown, csv, json or html", metavar="FORMAT"
    )
    plots: str | None = option(
        None, "write the ratios as a chart to this folder, as SVG and PNG, and nothing else",
        metavar="DIR",
    )  # fmt: skip
    overwrite: bool = option(
        False, "also replace files that milabench did not write", action="store_true"
    )
