"""The tables of communication: how fast each operation is, and its curve over sizes.

Of several launches the median is shown. ``alpha`` and ``beta`` are those of the line
``time = alpha + bytes / beta`` that the program fits; bus bandwidth is that of nccl-tests.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..results.records import is_finite
from .model import NAN, Row
from .section import Heading, Section

OF = ("op", "backend", "dtype", "ranks")  # what makes measurements comparable
VALUES = ("time_us", "time_us_best", "time_us_worst", "algorithm_gb_s", "bus_gb_s")

Told = Mapping[str, Any]


def communication(rows: Sequence[Row]) -> Section:
    """A row for each operation: its fit, and its bandwidth at the largest size."""
    columns = (
        Heading("bench"),
        *(Heading(name) for name in OF),
        Heading("alpha us", ".4g"),
        Heading("beta GB/s", ".4g"),
        Heading("residual", ".1%"),
        Heading("largest"),
        Heading("bus GB/s", ".4g"),
    )
    values = [
        (row.name, *of, *_fit(row, str(of[0])), size_text(sizes[-1]), _of(told, sizes[-1]))
        for row in rows
        for of, told in _operations(row).items()
        if (sizes := _sizes(told))
    ]
    return Section("Communication", columns, tuple(values))


def curve(rows: Sequence[Row]) -> Section:
    """A row for each operation and size."""
    columns = (
        Heading("bench"),
        *(Heading(name) for name in OF),
        Heading("bytes", "d"),
        *(Heading(name, ".6g") for name in VALUES),
    )
    values = [
        (row.name, *of, size, *(_of(told, size, name) for name in VALUES))
        for row in rows
        for of, told in _operations(row).items()
        for size in _sizes(told)
    ]
    return Section("Communication by size", columns, tuple(values))


def size_text(size: int) -> str:
    """Bytes with a binary prefix where they are a whole number of them: ``64Mi``, ``1000``."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size and size % 2**power == 0:
            return f"{size >> power}{prefix}"
    return str(size)


def _operations(row: Row) -> dict[tuple[Any, ...], list[Told]]:
    found: dict[tuple[Any, ...], list[Told]] = {}
    for told in row.tables.get("comm", ()):
        found.setdefault(tuple(str(told.get(name, "")) for name in OF), []).append(told)
    return found


def _sizes(told: Iterable[Told]) -> list[int]:
    return sorted({row["bytes"] for row in told if type(row.get("bytes")) is int})


def _of(told: Iterable[Told], size: int, name: str = "bus_gb_s") -> float:
    return _median(row.get(name) for row in told if row.get("bytes") == size)


def _fit(row: Row, op: str) -> tuple[float, ...]:
    fits = [fit for fit in row.tables.get("comm_fit", ()) if str(fit.get("op", "")) == op]
    names = ("alpha_us", "beta_gb_s", "residual")
    return tuple(_median(fit.get(name) for fit in fits) for name in names)


def _median(values: Iterable[Any]) -> float:
    known = [float(value) for value in values if is_finite(value)]
    return statistics.median(known) if known else NAN
