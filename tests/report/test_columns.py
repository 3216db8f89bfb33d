import pytest

from milabench_ddp.report.columns import Rate, Share
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
