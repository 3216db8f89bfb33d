"""A table as a value: raw values under named columns; one text layout and one CSV for all."""

import csv
import io
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .visible import in_line, visible
from .wrapped import underlined, width_of

UNKNOWN = "-"
_NUMBER = re.compile(r"-|[-+][\d.]+(?:e[-+]?\d+)?|-inf")
MOST_DIGITS = 6  # of a number that is known to more
SMALLEST = sys.float_info.min  # below it a float has no power of ten of its own
SKEWED, LEAST_SKEW = 0.4, 0.05  # by how much sides differ: of the longer one, or of the number
LOST = 20  # a number keeps its first digit unless its uncertainty is so many times as large


class Measured(float):
    """A measured number, a float everywhere but in text: its digits are cut to its uncertainty."""

    error: float  # in the same unit, to the farther end; NaN or 0 if it is not known
    sides: tuple[float, ...]  # that, or below and above where both differ much
    with_error: bool  # whether its text shows the uncertainty
    is_asked: bool  # whether the uncertainty is what was asked for, which its text must not exceed

    def __new__(
        cls, value: float, *errors: float, with_error: bool = False, is_asked: bool = False
    ) -> "Measured":
        made = super().__new__(cls, value)
        made.error, made.with_error, made.is_asked = max(errors), with_error, is_asked
        alike = SKEWED * max(made.error, LEAST_SKEW * abs(value))
        made.sides = errors if made.error - min(errors) > alike else (made.error,)
        return made

    def text(self, format: str) -> str:
        """The text: ``11,100 ±400``, ``0.9312 ±0.0004``, ``15,900 +900/-1,800``, ``37.8%``.

        The uncertainty is rounded up to one digit, or to two if the first is 1 or 2, and the number
        to the same place. One that was asked for has another digit, and is rounded down.

        Args:
            format: of a number of unknown uncertainty; if it ends with ``%``, the text is in per
                cent.
        """
        if not (math.isfinite(self) and SMALLEST <= self.error < math.inf):
            return without_exponent(float(self), format)
        scale, unit = (100, "%") if format.endswith("%") else (1, "")
        value, error = scale * float(self), scale * self.error
        places = _places(value, error) + self.is_asked
        rounded = math.floor if self.is_asked else math.ceil
        text = _fixed(value, places)
        if self.with_error:
            steps = (max(rounded(round(scale * s * 10.0**places, 6)), 1) for s in self.sides)
            below, *above = (_fixed(step / 10.0**places, places) for step in steps)
            text += f" +{above[0]}/-{below}" if above else f" ±{below}"
        return text + unit


def _places(value: float, error: float) -> int:
    """How many places after the point are known; negative for tens, hundreds and so on."""
    exponent = math.floor(math.log10(error))
    places = -exponent + (error / 10.0**exponent <= 2.9)
    if not value:
        return places
    first = -math.floor(math.log10(abs(value)))
    if error <= LOST * abs(value):
        places = max(places, first)
    return min(places, MOST_DIGITS - 1 + first)


def without_exponent(value: float, format: str) -> str:
    """A number of unknown uncertainty without an exponent, unless it is vast or tiny."""
    text = f"{value:{format}}"
    if "e" not in text or not 1e-9 <= abs(value) < 1e15:
        return text
    if abs(value) < 1:
        return f"{Decimal(text.strip()):f}"  # with the same digits
    return f"{value:.0f}"


def _fixed(value: float, places: int) -> str:
    return f"{round(value, places):,.{max(places, 0)}f}"


def percent_text(fraction: float, asked: float | None = None) -> str:
    """A fraction in per cent with two digits: ``0.95%``, ``12%``.

    Beside one that was asked for it has as many as tell them apart.
    """
    if fraction == asked:
        return given_percent_text(fraction)
    for digits in range(2, MOST_DIGITS):
        text = without_exponent(100 * fraction, f".{digits}g") + "%"
        if asked is None or text != given_percent_text(asked):
            break
    return text


def given_percent_text(fraction: float) -> str:
    """A fraction in per cent as someone gave it, with all its digits: ``1%``, ``12.25%``."""
    return without_exponent(100 * fraction, ".6g") + "%"


def size_text(size: float) -> str:
    """A size in bytes for a person: ``0 B``, ``12.3 MB``."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.3g} {units[0]}"


def duration_text(seconds: float) -> str:
    """A duration that is known about so well: ``41 s``, ``6 min``, ``1 h 20 min``."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 10 else f"{hours} h"


class Column(Struct, frozen=True):
    """A column: its name, and the format of its numbers, which are aligned to the right.

    Text has no format and is aligned to the left, unless ``right`` is set.
    """

    name: str
    format: str = ""
    of: str | Callable[[Any], Any] = ""  # where its value is in what a row is about
    right: bool = False
    unknown: str = UNKNOWN  # the text of a value that is not known

    @property
    def stands_right(self) -> bool:
        return bool(self.format) or self.right

    def value(self, subject: Any) -> Any:
        """Its value in what a row is about: by a function, a path, or else the column's name.

        It is None where a part of the path is.
        """
        if callable(self.of):
            return self.of(subject)
        if isinstance(subject, Mapping):
            return subject.get(self.of or self.name)
        for name in (self.of or self.name).split("."):
            if subject is not None:
                subject = subject[int(name)] if name.isdigit() else getattr(subject, name)
        return subject

    def text(self, value: object) -> str:
        if is_unknown(value):
            return self.unknown
        if isinstance(value, Measured):
            return value.text(self.format)
        if isinstance(value, float) and self.format:
            return without_exponent(value, self.format)
        return format(value, self.format) if self.format else in_line(str(value))


class Table(Struct, frozen=True):
    """Rows of raw values; None, NaN and the empty text are values that are not known."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()  # below it

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def table_from(
    columns: Sequence[Column],
    subjects: Iterable[object],
    title: str = "",
    notes: Iterable[str] = (),
) -> Table:
    rows = [tuple(column.value(subject) for column in columns) for subject in subjects]
    return Table(tuple(columns), tuple(rows), title, tuple(notes))


def is_unknown(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def without_unknown(table: Table, always: int = 1, names: Collection[str] = ()) -> Table:
    """The table without the columns that hold no known value.

    The first ``always`` stay, and those of these names.
    """
    kept = []
    for index, column in enumerate(table.columns):
        stays = index < always or column.name in names
        if stays or not all(is_unknown(row[index]) for row in table.rows):
            kept.append(index)
    return only_columns(table, kept)


def only_columns(table: Table, kept: Sequence[int]) -> Table:
    return replace(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in table.rows),
    )


def text_lines(table: Table, separator: str = " | ") -> Iterator[str]:
    """The table for a person: its title, its header, its rows and its notes."""
    yield from underlined(table.title)
    yield from laid_out(table.columns, cells_of(table), separator, ruled=False)
    yield from table.notes


def cells_of(table: Table) -> list[list[str]]:
    cells = [[in_line(column.name) for column in table.columns]]
    for row in table.rows:
        cells.append([c.text(value) for c, value in zip(table.columns, row, strict=True)])
    return cells


def widths_of(cells: Sequence[Sequence[str]]) -> list[int]:
    """How wide the columns are; a text can have several lines."""
    return [
        max(width_of(line) for text in column for line in text.split("\n"))
        for column in zip(*cells, strict=True)
    ]


def laid_out(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], separator: str, *, ruled: bool
) -> Iterator[str]:
    widths = widths_of(cells)
    for number, texts in enumerate(cells):
        for parts in zip_longest(*(text.split("\n") for text in texts), fillvalue=""):
            padded = []
            for column, text, width in zip(columns, parts, widths, strict=True):
                blanks = " " * (width - width_of(text))
                padded.append(blanks + text if column.stands_right else text + blanks)
            yield separator.join(padded).rstrip()
        if ruled and not number:
            yield separator.join("-" * width for width in widths)


def csv_text(table: Table, unknown: str = "") -> str:
    """The table for a spreadsheet, at full precision; no text of it is taken for a formula.

    Args:
        unknown: the text for None and NaN; an empty text stays empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(column.name) for column in table.columns])
    for row in table.rows:
        writer.writerow(
            [unknown if is_unknown(each) and each != "" else csv_cell(each) for each in row]
        )
    return out.getvalue()


def csv_cell(value: object) -> object:
    """A value for a CSV file: with all that cannot be seen, and a ``'`` before a formula."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    is_formula = text.startswith(("=", "+", "-", "@", "\t")) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text
