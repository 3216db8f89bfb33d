"""The tables of what programs report row by row: communication, and matrix products.

Of several launches the median is shown. ``alpha`` and ``beta`` of an operation are those of the
line ``time = alpha + bytes / beta`` that the program fits; bus bandwidth is that of nccl-tests.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..results.records import Payload, is_finite
from ..table import Column, Table
from .model import Rows
from .statistics import mean, median

COMPARABLE = ("op", "backend", "dtype", "ranks")  # what makes measurements comparable
FIT = ("alpha_us", "beta_gb_s", "residual")
MEASURED = ("time_us", "time_us_best", "time_us_worst", "algorithm_gb_s", "bus_gb_s")


@dataclass(frozen=True)
class Operation:
    """What was measured of one operation, with one back-end, type and number of ranks."""

    benchmark: str
    key: tuple[str, ...]  # the values of ``COMPARABLE``
    by_size: dict[int, list[Payload]]
    fits: list[Payload]

    @property
    def sizes(self) -> list[int]:
        """The sizes in bytes, from the smallest."""
        return sorted(self.by_size)

    def value(self, size: int, name: str) -> float:
        """The median of a value at a size; NaN where it is not known."""
        return median(row.get(name) for row in self.by_size[size])


def communication(rows: Rows) -> Table:
    """A row for each operation: its fit, and its bandwidth at the largest size."""
    columns = (
        Column("bench"),
        *map(Column, COMPARABLE),
        Column("alpha us", ".4g"),
        Column("beta GB/s", ".4g"),
        Column("residual", ".1%"),
        Column("largest"),
        Column("bus GB/s", ".4g"),
    )
    values = []
    for operation in _operations(rows):
        fit = [median(fit.get(name) for fit in operation.fits) for name in FIT]
        size = operation.sizes[-1]
        largest = size_text(size), operation.value(size, "bus_gb_s")
        values.append((operation.benchmark, *operation.key, *fit, *largest))
    return Table(columns, tuple(values), "Communication")


def curve(rows: Rows) -> Table:
    """A row for each operation and size."""
    measured = [Column(name, ".6g") for name in MEASURED]
    columns = Column("bench"), *map(Column, COMPARABLE), Column("bytes", "d"), *measured
    values = []
    for operation in _operations(rows):
        for size in operation.sizes:
            found = [operation.value(size, name) for name in MEASURED]
            values.append((operation.benchmark, *operation.key, size, *found))
    return Table(columns, tuple(values), "Communication by size")


def _operations(rows: Rows) -> Iterator[Operation]:
    for row in rows:
        fits: dict[str, list[Payload]] = {}
        for fit in row.tables.get("comm_fit", ()):
            fits.setdefault(str(fit.get("op", "")), []).append(fit)
        found: dict[tuple[str, ...], Operation] = {}
        for payload in row.tables.get("comm", ()):
            key = tuple(str(payload.get(name, "")) for name in COMPARABLE)
            size = payload.get("bytes")
            if type(size) is int:
                if key not in found:
                    found[key] = Operation(row.name, key, {}, fits.get(key[0], []))
                found[key].by_size.setdefault(size, []).append(payload)
        yield from found.values()


def size_text(size: int) -> str:
    """Bytes with a binary prefix where they are a whole number of them: ``64Mi``, ``1000``."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size and size % 2**power == 0:
            return f"{size >> power}{prefix}"
    return str(size)


def matrix_products(rows: Rows) -> Table:
    """A row for each benchmark that tried several shapes.

    A shape's speed is the mean over devices of what each reached in a short trial; the last column
    is what the benchmark then measured, each device with the shape that was fastest on it.
    """
    columns = (
        Column("bench"),
        Column("type"),
        Column("shapes", "d"),
        Column("best m x n x k"),
        Column("tried TFLOP/s", ".4g"),
        Column("TFLOP/s", ".4g"),
    )
    values = []
    for row in rows:
        speeds: dict[tuple[str, str], list[float]] = {}
        for payload in row.tables.get("sweep", ()):
            if is_finite(payload.get("tflop_s")):
                shape = " x ".join(str(payload.get(side, "?")) for side in ("m", "n", "k"))
                key = str(payload.get("dtype", "")), shape
                speeds.setdefault(key, []).append(payload["tflop_s"])
        if speeds:
            means = {key: mean(found) for key, found in speeds.items()}
            best = max(means, key=lambda key: means[key])
            values.append((row.name, best[0], len(means), best[1], means[best], row.perf))
    return Table(columns, tuple(values), "Matrix products")
