"""A table of a report: raw values under named columns, as text for people and CSV for programs."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

SEPARATOR = " | "
UNKNOWN = "-"


@dataclass(frozen=True)
class Heading:
    """A column: its name, and the format of its numbers; empty for text, which stands left."""

    name: str
    format: str = ""


@dataclass(frozen=True)
class Section:
    """A table with its title; a value that is None or NaN is not known."""

    title: str
    columns: tuple[Heading, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()  # below it

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.rows)


def without_unknown(section: Section, always: int = 1) -> Section:
    """The same table without columns in which nothing is known, but for the first ``always``."""
    kept = [
        k
        for k, column in enumerate(section.columns)
        if k < always or any(cell(row[k], column) != UNKNOWN for row in section.rows)
    ]
    return replace(
        section,
        columns=tuple(section.columns[k] for k in kept),
        rows=tuple(tuple(row[k] for k in kept) for row in section.rows),
    )


def lines(section: Section) -> Iterator[str]:
    """The table with its title, for a person."""
    yield section.title
    yield "-" * len(section.title)
    shown = [
        [cell(value, column) for column, value in zip(section.columns, row, strict=True)]
        for row in section.rows
    ]
    yield from aligned(section.columns, shown)
    yield from section.notes


def cell(value: Any, column: Heading) -> str:
    """A value as the column shows it."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return UNKNOWN
    return format(value, column.format) if column.format else str(value)


def aligned(columns: Sequence[Heading], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The header and the rows: numbers to the right, text to the left."""
    header = [column.name for column in columns]
    widths = [max(map(len, texts)) for texts in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        yield SEPARATOR.join(
            text.rjust(width) if column.format else text.ljust(width)
            for column, text, width in zip(columns, row, widths, strict=True)
        ).rstrip()


def csv_lines(section: Section) -> str:
    """The table for a spreadsheet, at full precision; what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in section.columns])
    for row in section.rows:
        writer.writerow(["" if cell(value, Heading("")) == UNKNOWN else value for value in row])
    return out.getvalue()
