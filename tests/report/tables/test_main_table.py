from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from milabench_ddp.fitted import fitted_lines
from milabench_ddp.report.fields import MAIN
from milabench_ddp.report.model import Row
from milabench_ddp.report.statistics.values import NAN
from milabench_ddp.report.tables.main_table import (
    Rate,
    Share,
    compact,
    main_table,
    milabench_table,
    stay,
)
from milabench_ddp.table import Column, text_lines


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.5678, "1234.57"), (1.0, "1.00"), (0.0123456, "0.0123"), (0.0, "0.00")],
)
def test_small_rates_keep_their_digits(value: float, text: str) -> None:
    assert Rate("perf", "10.2f").text(value).strip() == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "1.2%"), (0.0004, "0.04%"), (1e-5, "0.001%"), (1e-9, "<0.0001%"), (0.0, "0.0%")],
)
def test_a_known_uncertainty_is_never_shown_as_0(value: float, text: str) -> None:
    assert Share("sem%", "6.1%").text(value).strip() == text


def test_milabenchs_column_rounds() -> None:
    assert Column("sem%", "6.1%").text(0.0004).strip() == "0.0%"


def test_the_main_table_says_what_its_errors_hold() -> None:
    def row(name: str, launches: int) -> Row:
        ends = (9.0, 11.0)
        return Row(name, 0, 1, 1, 10.0, 0.1, 0.1, NAN, 10.0, 1.0, interval=ends, launches=launches)

    def note(*rows: Row) -> str:
        return " ".join(main_table(rows).notes)

    assert note(row("a", 1), row("b", 1)) == (
        "(± is within the launch: another launch can differ by more)"
    )
    assert note(row("a", 1), row("b", 5)) == (
        "(± is over launches, but within the launch of a: another launch can differ by more)"
    )
    assert note(row("b", 5)) == "(± is over launches)"
    assert milabench_table([row("b", 5)]).notes == ()


KNOWN = Row("a", 0, 2, 8, 1234.5, 0.01, 0.02, 40000.0, 9876.0, 1.0, unit="images/s")


def header(*rows: Row) -> list[str]:
    return [column.name for column in compact(main_table(rows)).columns]


def test_columns_stay_in_one_order() -> None:
    assert len({each.stays for each in MAIN}) == len(MAIN)


def test_columns_that_say_nothing_are_left_out() -> None:
    always = ["benchmark", "n", "ngpu", "perf", "unit", "std%", "sem%", "peak_memory"]
    assert header(KNOWN, KNOWN) == [*always, "score"]
    assert header(replace(KNOWN, score=KNOWN.perf)) == always
    assert header(KNOWN, replace(KNOWN, fail=1)) == ["benchmark", "fail", *always[1:], "score"]
    assert header(KNOWN, replace(KNOWN, weight=2.0)) == [*always, "score", "weight"]
    unknown = Row("b", 1, 0, 0, NAN, NAN, NAN, NAN, NAN, 1.0)
    assert header(unknown) == ["benchmark", "fail", "n", "ngpu"]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (42, ["benchmark", "perf", "unit", "n", "ngpu"]),
        (56, ["benchmark", "n", "ngpu", "perf", "unit", "peak_memory"]),
    ],
)
def test_the_most_important_columns_stay(width: int, columns: Sequence[str]) -> None:
    other = replace(KNOWN, name="b", n=4, ngpu=1, perf=5.0, unit="GB/s", peak_memory=1.0, score=9.0)
    lines = list(fitted_lines(compact(main_table([KNOWN, other])), width, stay=stay()))
    assert sorted(cell.strip() for cell in lines[0].split("|")) == sorted(columns)
    assert "(left out: " in " ".join(lines)


def test_the_table_stays_in_line_whatever_is_in_it() -> None:
    rows = [
        Row("a", 0, 1, 8, 1.5e12, 0.5, 12.0, 143771, 1.5e13, 1, unit="tokens/s"),
        Row("a-very-long-name-of-a-benchmark", NAN, NAN, 0, NAN, NAN, NAN, NAN, NAN, 100),
    ]
    lines = list(text_lines(compact(main_table(rows))))
    bars = [[k for k, c in enumerate(line) if c == "|"] for line in lines]
    assert bars[0] == bars[1]
    assert bars[2] == bars[0][: len(bars[2])]


@pytest.mark.parametrize(
    ("value", "ours", "milabenchs"),
    [
        (0.0283, "0.0283", "0.03"),
        (0.2, "0.200", "0.20"),
        (0.99999, "1.00", "1.00"),
        (1.0, "1.00", "1.00"),
        (0.0, "0.00", "0.00"),
        (NAN, "-", "nan"),
    ],
)
def test_a_small_rate_has_three_digits(value: float, ours: str, milabenchs: str) -> None:
    row = Row("a", 0, 1, 1, value, 0.0, 0.0, NAN, value, 1)
    for made, said in ((main_table, ours), (milabench_table, milabenchs)):
        table = made([row])
        names = [column.name for column in table.columns]
        cells = list(text_lines(table))[1].split("|")
        shown = [cells[names.index(name)].strip() for name in ("perf", "score")]
        assert shown == [said, said]


@pytest.mark.parametrize(
    ("error", "shown"),
    [(0.0, "0.0%"), (0.02, "2.0%"), (0.0005, "0.1%"), (0.0004, "0.04%"), (1e-9, "<0.0001%")],
)
def test_an_uncertainty_that_is_known_is_not_shown_as_0(error: float, shown: str) -> None:
    row = replace(Row.unmeasured("b", 0, 1.0, {}), perf=1.0, sem=error)
    for table, said in ((main_table([row]), shown), (milabench_table([row]), f"{error:.1%}")):
        *_, line = text_lines(table)
        at = [column.name for column in table.columns].index("sem%")
        assert line.split("|")[at].strip() == said
