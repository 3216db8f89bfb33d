import csv
import io
from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.table import (
    Column,
    Measured,
    Table,
    csv_text,
    duration_text,
    given_percent_text,
    is_unknown,
    percent_text,
    size_text,
    text_lines,
    without_unknown,
)

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


def test_lines_have_a_separator_of_their_own() -> None:
    table = Table((Column("a"), Column("b", "d")), (("x", 7),))
    assert list(text_lines(table, "  ")) == ["a  b", "x  7"]


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


@pytest.mark.parametrize(
    ("value", "error", "format", "text"),
    [
        (11069.19, 387.0, ".2f", "11,100 ±400"),
        (0.931234, 0.00037, ".2f", "0.9312 ±0.0004"),
        (11569.19, 150.0, ".2f", "11,570 ±150"),
        (2.0, 0.2999, ".2f", "2.0 ±0.3"),
        (2.0, 0.3, ".2f", "2.0 ±0.3"),
        (72.0, 800.0, ".2f", "70 ±800"),
        (-5.02, 0.041, ".2f", "-5.02 ±0.05"),
        (0.0, 0.1, ".2f", "0.00 ±0.10"),
        (0.378, 0.004, ".1%", "37.8 ±0.4%"),
        (100.0, 1e-9, ".2f", "100.000 ±0.001"),
        (100.0, 1e-13, ".2f", "100.000 ±0.001"),
        (0.37, 2.0, ".1%", "40 ±200%"),
        (0.001, 2.0, ".4g", "0.0 ±2.0"),
        (0.00012325, 1.4e-6, ".4g", "0.0001232 ±0.0000014"),
        (12345.6, nan, ".4g", "12346"),
        (1234567.0, nan, ".6g", "1234567"),
        (1.2345e-5, nan, "#10.3g", "0.0000123"),
        (4.0, nan, ".2f", "4.00"),
        (4.0, 0.0, ".2f", "4.00"),
        (4.0, inf, ".2f", "4.00"),
    ],
)
def test_digits_follow_the_uncertainty(value: float, error: float, format: str, text: str) -> None:
    assert Measured(value, error, with_error=True).text(format) == text
    alone = Measured(value, error).text(format)
    assert alone.rstrip("%") == text.split(" ±")[0].rstrip("%")


@given(st.floats(1e-3, 1e6), st.floats(1e-4, 0.5))
def test_the_error_in_the_text_is_never_too_small(value: float, relative: float) -> None:
    shown, error = Measured(value, value * relative, with_error=True).text("g").split(" ±")
    said = float(error.replace(",", ""))
    assert value * relative <= said * (1 + 1e-6)
    assert said <= 1.5 * value * relative
    assert abs(float(shown.replace(",", "")) - value) <= said


@given(st.floats(1e-3, 1e6), st.floats(1e-4, 0.5))
def test_the_error_that_was_asked_for_is_not_exceeded(value: float, asked: float) -> None:
    """``run --until 1%`` ended at 1 % of 105.4: ``±1.1`` would be more."""
    made = Measured(value, value * asked, with_error=True, is_asked=True)
    shown, error = made.text("g").split(" ±")
    said = float(error.replace(",", ""))
    assert said <= value * asked * (1 + 1e-6)
    assert said >= 0.96 * value * asked
    assert abs(float(shown.replace(",", "")) - value) <= said
    assert Measured(105.4, 1.054, with_error=True, is_asked=True).text("g") == "105.40 ±1.05"


def test_a_spreadsheet_gets_the_number_without_its_error() -> None:
    table = Table((Column("x", ".1f"),), ((Measured(1.23456, 0.1),), (Measured(nan, nan),)))
    assert csv_text(table).splitlines() == ["x", "1.23456", '""']
    assert list(text_lines(table)) == ["   x", "1.23", "   -"]


def test_an_uncertainty_that_is_too_small_for_a_float_is_none() -> None:
    assert Measured(1.0, 5e-324, with_error=True).text(".2f") == "1.00"
    assert Measured(1.0, 3e-308, with_error=True).text(".2f").startswith("1.00000 ±0.0000")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (99.4, "99 s"),
        (99.6, "2 min"),
        (5940, "99 min"),
        (6000, "1 h 40 min"),
        (36_060, "10 h"),
    ],
)
def test_a_duration_has_two_digits_or_so(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.01, "1%"), (0.0213, "2.1%"), (0.0004567, "0.046%"), (1.5, "150%")]
)
def test_a_fraction_in_per_cent(fraction: float, text: str) -> None:
    assert percent_text(fraction) == text


@pytest.mark.parametrize(
    ("fraction", "asked", "text"),
    [
        (0.0125, 0.0125, "1.25%"),
        (0.0104, 0.01, "1.04%"),
        (0.009951, 0.01, "0.995%"),
        (0.021, 0.01, "2.1%"),
    ],
)
def test_a_fraction_beside_one_that_was_asked_for(fraction: float, asked: float, text: str) -> None:
    assert percent_text(fraction, asked) == text
    assert given_percent_text(asked) == f"{100 * asked:g}%"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_600, "1 MB"),
        (12_345_678, "12.3 MB"),
        (3e9, "3 GB"),
        (5e14, "500 TB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_suits_it(size: float, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize("text", ["=1+1", "+a", "-a", "@a", "\t=1+1"])
def test_no_cell_begins_a_formula(text: str) -> None:
    table = Table((Column("name"),), ((text,),))
    assert csv_text(table).splitlines()[1].strip('"') == f"'{text}"


@pytest.mark.parametrize(
    ("below", "above", "text"),
    [
        (1733.0, 890.0, "15,900 +900/-1,800"),
        (890.0, 1733.0, "15,900 +1,800/-900"),
        (1733.0, 1100.0, "15,900 ±1,800"),  # they differ by less than is worth a reader's time
        (1733.0, 0.0, "15,900 +100/-1,800"),
        (150.0, 50.0, "15,850 ±150"),  # and here by less than a fiftieth of the number
        (nan, nan, "15851"),
    ],
)
def test_both_sides_of_an_interval_that_differ(below: float, above: float, text: str) -> None:
    made = Measured(15851.0, below, above, with_error=True)
    assert made.text(".5g") == text
    assert isnan(made.error) or made.error == max(below, above)
