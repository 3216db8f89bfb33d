"""The table of figures and its JSON."""

import json
import math

import pytest

from milabench_ddp.table import text_lines
from perf.figure import Figure, Goal, with_growth
from perf.table import json_text, number_text, table

START = Figure(
    "start", "ms", (38.0, 40.0, 39.0), (20.0, 20.0, 20.0), "python -c pass", goal=Goal(1.5)
)
RATE = Goal(650_000, at_least=True, of_measured=True)
LINES = Figure("lines", "/s", (700_000.0,), (math.inf,), "bare", goal=RATE)
TIME = with_growth(
    [
        Figure("run of 10", "s", (0.5,), (0.1,), "alone", relation="difference"),
        Figure("run of 100", "s", (5.0,), (0.1,), "alone", relation="difference"),
    ],
    (10, 100),
)


def test_a_row_for_each_figure() -> None:
    lines = list(text_lines(table([START, LINES, *TIME])))
    start, rate, _, last = ([cell.strip() for cell in line.split("|")] for line in lines[1:5])
    assert start == [
        "start", "39.0 ms", "20.0 ms", "1.95 x", "1.92 to 1.98", "<= 1.50 x", "misses", "-",
        "python -c pass",
    ]  # fmt: skip
    assert rate[5:7] == [">= 650,000 /s", "-"]
    assert last[3] == "+4.90 s"
    assert last[7] == "n^1.00, 0.05 s each"


def test_the_json_has_all_rounds_and_no_number_that_json_lacks() -> None:
    whole = json.loads(json_text([START, LINES, *TIME], "quick", 0.25))
    assert whole["effort"] == "quick"
    assert whole["machine"]["others"] == 0.25
    start, lines, _, last = whole["figures"]
    assert start["measured"]["rounds"] == [38.0, 40.0, 39.0]
    assert start["relative"]["median"] == 1.95
    assert start["goal"] == {"limit": 1.5, "at_least": False, "of_measured": False, "missed": True}
    assert lines["floor"]["median"] is None
    assert last["growth"]["sizes"] == [10, 100]


@pytest.mark.parametrize(
    ("value", "text"),
    [(650_000.4, "650,000"), (12.34, "12.3"), (1.234, "1.23"), (0.01234, "0.0123"), (0.0, "0")],
)
def test_numbers_have_about_three_digits(value: float, text: str) -> None:
    assert number_text(value) == text
    assert number_text(math.nan) == "-"
