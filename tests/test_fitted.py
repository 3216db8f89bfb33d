from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from milabench_ddp.fitted import fitted_lines
from milabench_ddp.table import Column, Table, text_lines

NUMBERS = tuple(Column(f"number {k}", ".0f") for k in range(4))
WIDE = Table((Column("bench"), *NUMBERS), (("gpt", 1.0, 2.0, 3.0, 4.0), ("t5", 1.0, 6.0, 7.0, 8.0)))
TEXTS = Table(
    (Column("severity"), Column("sentence"), Column("what to do", unknown="")),
    (
        ("error", "the loss of rank 3 became NaN after step 7", "try a lower rate, or more bits"),
        ("note", "two runs are pooled", ""),
    ),
    "Findings",
)


def test_what_fits_stays_as_it_is() -> None:
    assert list(fitted_lines(WIDE, 49)) == list(text_lines(WIDE))


def test_columns_that_are_alike_are_told_below_first() -> None:
    assert list(fitted_lines(WIDE, 48)) == [
        "bench | number 1 | number 2 | number 3",
        "gpt   |        2 |        3 |        4",
        "t5    |        6 |        7 |        8",
        "(in all rows: number 0 1)",
    ]


def test_the_first_column_and_those_of_a_single_row_are_never_told_below() -> None:
    columns = (Column("bench"), Column("W", ".0f"), Column("cap W", ".0f"), Column("node"))
    rows = (("a", 1.0, 700.0, ""), ("a", 2.0, 700.4, ""))
    assert list(fitted_lines(Table(columns, rows, notes=("a note",)), 22)) == [
        "bench | W",
        "a     | 1",
        "a     | 2",
        "a note",
        "(in all rows: cap W",
        " 700, node -)",
    ]
    one = "".join(fitted_lines(Table(columns, rows[:1]), 22))
    assert "in all rows" not in one


def test_then_the_table_comes_in_parts() -> None:
    assert list(fitted_lines(WIDE, 30)) == [
        "bench | number 1 | number 2",
        "gpt   |        2 |        3",
        "t5    |        6 |        7",
        "",
        "bench | number 3",
        "gpt   |        4",
        "t5    |        8",
        "(in all rows: number 0 1)",
    ]


def test_each_part_begins_with_the_columns_that_tell_the_rows_apart() -> None:
    rows = tuple((name, rank, 10.0 * rank, 100.0 * rank) for name in "ab" for rank in range(2))
    columns = Column("bench"), Column("rank", ".0f"), Column("time of a step"), Column("allocated")
    assert list(fitted_lines(Table(columns, rows), 32)) == [
        "bench | rank | time of a step",
        "a     |    0 | 0.0",
        "a     |    1 | 10.0",
        "b     |    0 | 0.0",
        "b     |    1 | 10.0",
        "",
        "bench | rank | allocated",
        "a     |    0 | 0.0",
        "a     |    1 | 100.0",
        "b     |    0 | 0.0",
        "b     |    1 | 100.0",
    ]


def test_or_columns_are_left_out_the_least_important_first() -> None:
    assert list(fitted_lines(WIDE, 30, stay=["number 3", "number 1"])) == [
        "bench | number 1 | number 3",
        "gpt   |        2 |        4",
        "t5    |        6 |        8",
        "(in all rows: number 0 1)",
        "(left out: number 2; --width",
        " 38 shows all)",
    ]
    assert len(list(fitted_lines(WIDE, 38, stay=["number 3"]))) == 4


def test_one_column_of_texts_is_wrapped_in_its_cells() -> None:
    table = Table(TEXTS.columns[:2], tuple(row[:2] for row in TEXTS.rows), notes=("(a note)",))
    assert list(fitted_lines(table, 40)) == [
        "severity | sentence",
        "error    | the loss of rank 3 became NaN",
        "         | after step 7",
        "note     | two runs are pooled",
        "(a note)",
    ]


def test_with_several_columns_of_texts_each_row_is_a_block() -> None:
    assert list(fitted_lines(TEXTS, 40)) == [
        "Findings",
        "--------",
        "severity    error",
        "sentence    the loss of rank 3 became",
        "            NaN after step 7",
        "what to do  try a lower rate, or more",
        "            bits",
        "",
        "severity    note",
        "sentence    two runs are pooled",
    ]


cell = st.text(st.characters(exclude_categories=["C"]), max_size=90)


number = st.floats(0, 1e9)
row = st.tuples(cell, cell, number, number)


@given(st.lists(row, min_size=1, max_size=4), st.integers(50, 150), st.booleans())
def test_no_line_is_too_wide(
    rows: list[tuple[str, str, float, float]], width: int, leaves_out: bool
) -> None:
    columns = Column("name"), Column("unit"), Column("x", ".2f"), Column("y", ".2f")
    table = Table(columns, tuple(rows))
    lines = list(fitted_lines(table, width, stay=["x"] if leaves_out else []))
    if lines[0].startswith("name "):  # words of blocks stay whole
        assert all(cell_len(line) <= width for line in lines)


def test_a_ruled_table_has_dashes_below_its_header_and_blanks_between_columns() -> None:
    table = Table((Column("a"), Column("b", "d")), (("x", 7),))
    assert list(fitted_lines(table, 80, ruled=True)) == ["a  b", "-  -", "x  7"]
