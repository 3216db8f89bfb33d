import math

import pytest

from milabench_ddp.render.html import MOST_ROWS, html_table, shade
from milabench_ddp.table import Column, Measured, Table

COLUMNS = (Column("benchmark"), Column("rank"), Column("ms", ".4g"))


@pytest.mark.parametrize(
    ("value", "class_"),
    [
        (100.0, ""),
        (100.9, ""),
        (101.1, "up1"),
        (103.0, "up2"),
        (106.0, "up3"),
        (111.0, "up4"),
        (1e9, "up5"),
        (99.1, ""),
        (98.5, "down1"),
        (60.0, "down5"),
        (math.nan, ""),
        (None, ""),
    ],
)
def test_shades(value: float | None, class_: str) -> None:
    assert shade(value, 100.0, 100.0) == class_
    assert shade(value, 100.0, math.nan) == shade(value, 0.0, 0.0) == ""


def test_rows() -> None:
    rows = tuple(("b", f"rank {k}", 100.0 + 12 * (k == 3)) for k in range(8))
    table = Table(COLUMNS, rows, "<Ranks>", ("(a note & more)",))
    made = html_table(table, shaded={"ms": "ms"}, marked={"rank 3"})
    assert made.count("<tr") == 1 + 8
    assert (
        '<tr class="marked"><th scope="row">rank 3</th><td class="number up4">112</td></tr>' in made
    )
    assert made.count("up") == made.count("marked") == 1
    assert 'aria-label="&lt;Ranks&gt;"' in made
    assert "(a note &amp; more)" in made
    assert ">b<" not in made  # it is the section's


def test_a_part_of_a_step_is_shaded_by_its_share_of_the_step() -> None:
    """Twice the wait is nothing where the wait is nothing."""
    columns = (Column("rank"), Column("ms", ".4g"), Column("wait", ".3g"), Column("own", ".4g"))
    rows = tuple((f"rank {k}", 100.0, 0.01 * 2 ** (k == 3), 90.0 + 7 * (k == 3)) for k in range(8))
    made = html_table(Table(columns, rows), shaded={"ms": "ms", "wait": "ms", "own": "ms"})
    assert '<td class="number">0.02</td><td class="number up3">97</td>' in made


def test_numbers_are_those_of_the_text() -> None:
    table = Table(
        COLUMNS, (("b", "r", Measured(402_123.0, 1600.0, with_error=True)), ("b", "s", None))
    )
    made = html_table(table)
    assert '<td class="number">402,100 ±1,600</td>' in made
    assert '<td class="number">-</td>' in made


def test_of_too_many_rows_the_rest_is_told() -> None:
    rows = tuple(("b", f"rank {k}", 1.0) for k in range(8192))
    made = html_table(Table(COLUMNS, rows, "Ranks"), whole="milabench report RUN --table ranks")
    assert made.count("<tr") == 1 + MOST_ROWS
    assert "512 of 8192 rows. All of them: milabench report RUN --table ranks" in made
