"""``milabench report``: print the report of runs, from their result files alone."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import MilabenchError, SelectionError
from ..options.reading import ReportOptions
from ..report.assemble import report_of
from ..report.broken_rows import in_spite_of_broken
from ..report.formats import FORMATS, Format, text_format
from ..report.model import Report
from ..report.order import in_order, selected
from ..report.page.page_file import open_page, page_path, write_page
from ..report.plots import write_charts
from ..report.prediction.predict import predictions_of
from ..report.sweeps.sweep import sweep_of
from ..report.tables import REPORT_TABLES, TABLES
from ..report.timeline import write_timeline
from ..results.find_run import run_folders
from ..results.read_state import read_header
from ..results.run_dir import RunDir
from .final_report import exit_code, shown_width, write

# What is written to the file or folder of the option of this name, in place of the report; each
# returns sentences on what was written.
FILES: Mapping[str, Callable[..., list[str]]] = {
    "timeline": write_timeline,
    "plots": write_charts,
    "html": write_page,
}

# The options that show a part of the report alone, and which field of its format writes it.
PARTS = {"predict": "prediction", "failures": "failures", "table": "table"}


def main(options: ReportOptions) -> int:
    files = {name: path for name in FILES if (path := getattr(options, name)) is not None}
    _check(options, next(iter(files), "open" if options.open else ""))
    runs = run_folders(options.runs)
    for path in runs:
        with suppress(MilabenchError):  # then the report shows the run as its files have it
            _settle(RunDir(path.absolute()))
    made = report_of(
        runs,
        compat_formulas=options.compat,
        weights=None if options.config is None else _weights(options.config),
        baseline=options.baseline,
        pool=options.pool,
        of_any_size=bool(options.predict),
    )
    if options.sort is not None:
        made = in_order(made, options.sort)
    if options.open:
        files.setdefault("html", str(page_path(made)))
    made, text = in_spite_of_broken(lambda it: _text(it, options, files), made)
    if options.open:
        text += open_page(Path(files["html"]))
    write(text, sys.stdout)
    return exit_code(made, options.fail_on)


def _check(options: ReportOptions, file: str) -> None:
    """Raise SelectionError for options that contradict each other.

    Args:
        file: the option of the file that is written in place of the report; empty without one.
    """
    asked = [f"--{file}"] if file else []
    asked += [f"--{name}" for name in (*PARTS, "compat") if getattr(options, name)]
    files = " and ".join(f"--{name}" for name in FILES)
    has_score = not (options.compat or options.predict) and options.table in (None, "scores")
    refused = {
        " goes without ".join(asked): len(asked) > 1,
        f"--{file} goes without --format {options.format}": (
            file and options.format not in ("text", "html")
        ),
        "--baseline is for the score": options.baseline and not has_score,
        f"--select is for {files}": options.select and not file,
        f"--overwrite is for {files}": options.overwrite and not file,
        "--rows and --cols are for a metric of a sweep: name it by --table": (
            (options.rows or options.cols) and options.table is None
        ),
    }
    for option, part in PARTS.items():
        able = [name for name, known in FORMATS.items() if getattr(known, part) is not None]
        is_unable = getattr(options, option) and options.format not in able
        refused[f"--{option} goes with --format {' or '.join(able)}"] = is_unable
    for sentence, is_so in refused.items():
        if is_so:
            raise SelectionError(sentence)


def _text(made: Report, options: ReportOptions, files: Mapping[str, str]) -> str:
    if files:
        said: list[str] = []
        names = selected([row.name for row in made.rows], options.select)
        made = made.only({"", *names}) if options.select else made
        for name, path in files.items():
            said += FILES[name](made, Path(path), overwrite=options.overwrite)
        return "".join(f"{sentence}\n" for sentence in said)
    format = FORMATS[options.format]
    if options.format == "text":
        format = text_format(options.width or shown_width())
    if options.predict and format.prediction is not None:
        return format.prediction(predictions_of(made.rows, options.predict))
    if options.failures and format.failures is not None:
        return format.failures(made) if made.failures else "Nothing failed.\n"
    if options.table is None:
        return format.report(made)
    return _table(options.table, made, options, format)


def _settle(run: RunDir) -> None:
    header = read_header(run)
    if header.jobs and header.outcome is None:
        # imported here because few runs are such, and it takes long to import
        from ..dispatch.follow import settle

        settle(run)


def _table(name: str, report: Report, options: ReportOptions, format: Format) -> str:
    assert format.table is not None
    assert format.sweep is not None
    if name not in TABLES and name not in REPORT_TABLES:
        return format.sweep(sweep_of(report, name, options.rows, options.cols))
    if options.rows or options.cols:
        raise SelectionError(f"--rows and --cols are for the metrics of a sweep, not for {name}")
    if name in REPORT_TABLES:
        return format.table(REPORT_TABLES[name](report))
    return format.table(TABLES[name](report.rows))


def _weights(config: str) -> dict[str, float]:
    # imported here because few reports need a configuration, and reading one takes long to import
    from ..config.conditions import MachineFacts
    from ..config.load import SuiteRequest, resolve
    from ..config.tree import to_plain

    nowhere = MachineFacts("cpu", 1, 1, 1, "", 0.0, Path.cwd())
    benchmarks = resolve(SuiteRequest(config), nowhere).benchmarks
    tables = {name: to_plain(result.entry) for name, result in benchmarks.items()}
    return {name: float(t["weight"]) for name, t in tables.items() if t["enabled"]}
