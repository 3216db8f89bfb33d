"""What the formats of a report write, with the text as wide as a test wants it."""

from milabench_ddp.render.blocks import TableBlock
from milabench_ddp.render.markdown import markdown_of
from milabench_ddp.render.text import WIDTH, text_of
from milabench_ddp.report.faces import folded_blocks, sweep_blocks
from milabench_ddp.report.model import Report
from milabench_ddp.report.sweeps.sweep import Sweep, sweep_table
from milabench_ddp.report.tables.main_table import main_table
from milabench_ddp.table import Table, csv_text


def table_text(table: Table, width: int = WIDTH) -> str:
    return text_of([TableBlock(table)], width)


def sweep_text(sweep: Sweep, width: int = WIDTH) -> str:
    return text_of(sweep_blocks(sweep), width)


def sweep_markdown(sweep: Sweep) -> str:
    return markdown_of(sweep_blocks(sweep))


def sweep_csv(sweep: Sweep) -> str:
    return csv_text(sweep_table(sweep))


def report_csv(report: Report) -> str:
    return csv_text(main_table(report.rows), unknown="nan")


def report_markdown(report: Report) -> str:
    return markdown_of(folded_blocks(report))
