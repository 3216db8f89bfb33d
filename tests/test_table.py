import csv
import io
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.table import Column, Table, csv_text, is_unknown, text_lines, without_unknown

COLUMNS = (Column("bench"), Column("rate", ".1f"), Column("unit"), Column("n", right=True))
TABLE = Table(
    COLUMNS, (("a", 1234.56, "items/s", "1"), ("longer", nan, "", "16")), "Rates", ("a note",)
)


def test_text_stands_left_and_numbers_stand_right() -> None:
    assert list(text_lines(TABLE)) == [
        "Rates",
        "-----",
        "bench  |   rate | unit    |  n",
        "a      | 1234.6 | items/s |  1",
        "longer |      - | -       | 16",
        "a note",
    ]


def test_lines_without_a_title_have_a_rule_and_a_separator_of_their_own() -> None:
    table = Table((Column("a"), Column("b", "d")), (("x", 7),))
    assert list(text_lines(table, "  ", ruled=True)) == ["a  b", "-  -", "x  7"]


def test_no_line_ends_with_spaces() -> None:
    table = Table((Column("n", "d"), Column("text")), ((1, "long text"), (2, "x")))
    assert list(text_lines(table)) == ["n | text", "1 | long text", "2 | x"]


@pytest.mark.parametrize(
    ("value", "unknown"), [(None, True), (nan, True), ("", True), (0, False), (0.0, False)]
)
def test_what_is_not_known(value: object, unknown: bool) -> None:
    assert is_unknown(value) is unknown


def test_columns_in_which_nothing_is_known_are_left_out() -> None:
    table = Table(
        (Column("bench"), Column("a", "g"), Column("b", "g")), (("", nan, 1), ("", None, nan))
    )
    left = without_unknown(table)
    assert [column.name for column in left.columns] == ["bench", "b"]
    assert left.rows[0] == ("", 1)
    assert len(without_unknown(table, always=2).columns) == 3


def test_a_spreadsheet_gets_all_digits() -> None:
    rows = list(csv.reader(io.StringIO(csv_text(TABLE))))
    assert rows == [
        ["bench", "rate", "unit", "n"],
        ["a", "1234.56", "items/s", "1"],
        ["longer", "", "", "16"],
    ]
    table = Table((Column("a, b"), Column("c")), (('a "word"', None),))
    assert csv_text(table, unknown="nan") == '"a, b",c\n"a ""word""",nan\n'


def test_a_table_without_rows_says_nothing() -> None:
    assert TABLE
    assert not Table(COLUMNS, ())
    assert list(text_lines(Table(COLUMNS, ()))) == ["bench | rate | unit | n"]


def test_a_column_has_a_word_of_its_own_for_what_is_not_known() -> None:
    table = Table((Column("n", ".1f", unknown="nan"), Column("unit", unknown="")), ((nan, ""),))
    assert list(text_lines(table)) == ["  n | unit", "nan |"]
    assert csv_text(table, unknown="nan") == "n,unit\nnan,\n"


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]))


@given(st.lists(st.tuples(NAMES, st.floats(), st.none(), st.floats(0, 1))))
def test_csv_has_every_digit_and_nothing_for_what_is_not_known(rows: list[tuple]) -> None:
    read = list(csv.reader(io.StringIO(csv_text(Table(COLUMNS, tuple(rows))), newline="")))
    for row, cells in zip(rows, read[1:], strict=True):
        assert cells[1] == ("" if isnan(row[1]) else repr(row[1]))
        assert (cells[2], float(cells[3])) == ("", row[3])
