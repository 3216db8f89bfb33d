"""The columns of a table, from the fields of its lines."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from milabench_ddp.codec import about
from milabench_ddp.report.tidy.columns import TidyColumn, columns_of


@dataclass(frozen=True, kw_only=True)
class Of:
    """What a line is about."""

    run: Annotated[str, about("the run")]


@dataclass(frozen=True, kw_only=True)
class Line(Of):
    """A line."""

    ms: Annotated[float | None, about("a time", "ms")]
    count: Annotated[int, about("a count")] = 0


def test_its_fields_with_their_types_meanings_and_units() -> None:
    assert columns_of(Line) == (
        TidyColumn("run", str, "the run", ""),
        TidyColumn("ms", float, "a time", "ms"),
        TidyColumn("count", int, "a count", ""),
    )


def test_a_column_without_a_meaning_is_refused() -> None:
    class Silent:
        run: str

    with pytest.raises(TypeError, match=r"Silent\.run does not say what it means"):
        columns_of(Silent)


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        (int, 2**63 - 1, 2**63 - 1),
        (int, 2**63, None),
        (int, -(2**63) - 1, None),
        (float, 2**70, 2.0**70),
        (float, 10**400, None),
        (float, 0.1, 0.1),
        (str, "\udcffé|", "\\udcffé|"),
        (str, None, None),
        (bool, True, True),
    ],
)
def test_what_a_damaged_file_has_fits_its_column(kind: type, value: object, fits: object) -> None:
    found = TidyColumn("x", kind, "", "").fitting(value)
    assert found == fits
    assert type(found) is type(fits)
