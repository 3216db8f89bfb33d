import pytest

from milabench_ddp.report.model import Row, Summary
from milabench_ddp.report.statistics.values import NAN
from milabench_ddp.report.tables.main_table import Rate, Share, main_table
from milabench_ddp.table import Column


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
        summary = Summary(interval=(9.0, 11.0), launches=launches)
        return Row(name, 0, 1, 1, 10.0, 0.1, 0.1, NAN, 10.0, 1.0, summary=summary)

    def note(*rows: Row) -> str:
        return " ".join(main_table(rows).notes)

    assert note(row("a", 1), row("b", 1)) == (
        "(± is within the launch: another launch can differ by more)"
    )
    assert note(row("a", 1), row("b", 5)) == (
        "(± is over launches, but within the launch of a: another launch can differ by more)"
    )
    assert note(row("b", 5)) == "(± is over launches)"
    assert main_table([row("b", 5)], compat=True).notes == ()
