"""The formats of a report. A new format is a file and a line in ``FORMATS``.

CSV has the columns of the main table, and JSON has everything; both have full precision.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..codec import encode_indented
from ..table import Table, csv_text
from .document.make_document import document_of
from .markdown import prediction_markdown, report_markdown, sweep_markdown, table_markdown
from .model import Report
from .prediction.predict import Predicted
from .prediction.prediction_table import (
    prediction_columns,
    prediction_json,
    prediction_table,
)
from .sweeps.sweep import Sweep, sweep_table
from .tables.main_table import main_table
from .text import WIDTH, report_text, sweep_text, table_text


class Format(Struct, frozen=True):
    """The functions that write a format; None if it cannot write a table, sweep or prediction."""

    report: Callable[[Report], str]
    table: Callable[[Table], str] | None = None
    sweep: Callable[[Sweep], str] | None = None
    prediction: Callable[[Sequence[Predicted]], str] | None = None


def report_csv(report: Report) -> str:
    """The main table as CSV; unknown values are ``nan``."""
    return csv_text(main_table(report.rows), unknown="nan")


def sweep_csv(sweep: Sweep) -> str:
    """The table of a sweep as CSV."""
    return csv_text(sweep_table(sweep))


def report_json(report: Report) -> str:
    """The document of the report as JSON; ``docs/reference/report.schema.json`` describes it."""
    return encode_indented(document_of(report)).decode()


def report_html(report: Report) -> str:
    # imported here because it takes long to import
    from .page import page

    return page.report_html(report)


def text_format(width: int) -> Format:
    """Text in lines of at most ``width`` columns."""
    return Format(
        lambda report: report_text(report, width),
        lambda table: table_text(table, width),
        lambda sweep: sweep_text(sweep, width),
        lambda found: table_text(prediction_table(found), width),
    )


def prediction_csv(found: Sequence[Predicted]) -> str:
    """Predictions as CSV, with both ends of their intervals."""
    return csv_text(prediction_columns(found))


FORMATS: Mapping[str, Format] = {
    "text": text_format(WIDTH),
    "csv": Format(report_csv, csv_text, sweep_csv, prediction_csv),
    "markdown": Format(report_markdown, table_markdown, sweep_markdown, prediction_markdown),
    "json": Format(report_json, prediction=prediction_json),
    "html": Format(report_html),
}
