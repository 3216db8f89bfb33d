"""The table of matrix products: the shape that is fastest, of those that were tried."""

import statistics
from collections.abc import Sequence
from typing import Any

from ..results.records import is_finite
from .model import Row
from .section import Heading, Section

SIDES = ("m", "n", "k")


def sweeps(rows: Sequence[Row]) -> Section:
    """A row for each benchmark that tried several shapes.

    A shape's speed is the mean over devices of what each was seen to reach in a short trial; the
    last column is what the benchmark then measured, each device with the shape that it found best.
    """
    columns = (
        Heading("bench"),
        Heading("type"),
        Heading("shapes", "d"),
        Heading("best m x n x k"),
        Heading("tried TFLOP/s", ".4g"),
        Heading("TFLOP/s", ".4g"),
    )
    return Section(
        "Matrix products", columns, tuple(found for row in rows if (found := _values(row)))
    )


def _values(row: Row) -> tuple[Any, ...]:
    speeds: dict[tuple[Any, ...], list[float]] = {}
    for told in row.tables.get("sweep", ()):
        if is_finite(told.get("tflop_s")):
            shape = tuple(str(told.get(side, "?")) for side in SIDES)
            speeds.setdefault((str(told.get("dtype", "")), shape), []).append(told["tflop_s"])
    if not speeds:
        return ()
    means = {key: statistics.fmean(values) for key, values in speeds.items()}
    best = max(means, key=lambda key: means[key])
    return row.name, best[0], len(means), " x ".join(best[1]), means[best], row.perf
