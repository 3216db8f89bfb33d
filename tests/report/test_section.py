import csv
import io
import math

from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.section import Heading, Section, csv_lines, lines, without_unknown

NAMES = st.text(st.characters(exclude_categories=["C", "Z"]))
COLUMNS = (Heading("bench"), Heading("ms", ".1f"), Heading("of"), Heading("MFU", ".1%"))


def test_text() -> None:
    rows = (("a", 1.25, "rank 0", math.nan), ("long-name", 1000.0, "", math.nan))
    assert list(lines(Section("Steps", COLUMNS, rows, ("(a note)",)))) == [
        "Steps",
        "-----",
        "bench     |     ms | of     | MFU",
        "a         |    1.2 | rank 0 |   -",
        "long-name | 1000.0 | -      |   -",
        "(a note)",
    ]


def test_columns_in_which_nothing_is_known() -> None:
    shown = without_unknown(Section("Steps", COLUMNS, (("a", math.nan, "", 0.5),)), 2)
    assert [column.name for column in shown.columns] == ["bench", "ms", "MFU"]
    assert shown.rows[0][2] == 0.5
    assert not Section("Steps", COLUMNS, ())


@given(st.lists(st.tuples(NAMES, st.floats(), st.none(), st.floats(0, 1))))
def test_csv_has_every_digit_and_nothing_for_what_is_not_known(rows: list[tuple]) -> None:
    text = csv_lines(Section("Steps", COLUMNS, tuple(rows)))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == ["bench", "ms", "of", "MFU"]
    for row, of_row in zip(rows, read[1:], strict=True):
        assert of_row[1] == ("" if math.isnan(row[1]) else repr(row[1]))
        assert (of_row[2], float(of_row[3])) == ("", row[3])
