"""The formats of a report. A new format is a file and a line in ``FORMATS``.

CSV has the columns of the main table, and JSON has everything; both have full precision.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from ..codec import encode_indented
from ..render.blocks import Block, TableBlock
from ..render.markdown import markdown_of
from ..render.text import WIDTH, text_of
from ..table import Table, csv_text
from .document import document_of
from .faces import folded_blocks, report_text, sweep_blocks
from .failure_faces import failures
from .model import Report
from .prediction.predict import Predicted
from .prediction.prediction_table import prediction_columns, prediction_json, prediction_table
from .sweeps.sweep import Sweep, sweep_table
from .tables.main_table import main_table


class Format(Struct, frozen=True):
    """The functions that write a format; None for a part that it cannot write."""

    report: Callable[[Report], str]
    table: Callable[[Table], str] | None = None
    sweep: Callable[[Sweep], str] | None = None
    prediction: Callable[[Sequence[Predicted]], str] | None = None
    failures: Callable[[Report], str] | None = None


def report_json(report: Report) -> str:
    return encode_indented(document_of(report)).decode()


def report_html(report: Report) -> str:
    # imported here because it takes long to import
    from .page import page

    return page.report_html(report)


def of_blocks(report: Callable[[Report], str], render: Callable[[Iterable[Block]], str]) -> Format:
    return Format(
        report,
        lambda table: render([TableBlock(table)]),
        lambda sweep: render(sweep_blocks(sweep)),
        lambda found: render([TableBlock(prediction_table(found))]),
        lambda report: render(failures(report)),
    )


def text_format(width: int) -> Format:
    return of_blocks(
        lambda report: report_text(report, width), lambda blocks: text_of(blocks, width)
    )


FORMATS: Mapping[str, Format] = {
    "text": text_format(WIDTH),
    "csv": Format(
        lambda report: csv_text(main_table(report.rows), unknown="nan"),
        csv_text,
        lambda sweep: csv_text(sweep_table(sweep)),
        lambda found: csv_text(prediction_columns(found)),
    ),
    "markdown": of_blocks(lambda report: markdown_of(folded_blocks(report)), markdown_of),
    "json": Format(report_json, prediction=prediction_json),
    "html": Format(report_html),
}
