"""The tables of what programs report: their numbers, communication, and matrix products.

A cell is the median over launches. The program fits ``alpha`` and ``beta`` of an operation to the
line ``time = alpha + bytes / beta``, or to several lines, each for a range of sizes. A note says
where the lines change, and where they do not hold. Bus bandwidth is defined as in nccl-tests.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec import Struct, field

from ...results.records import Payload, is_finite
from ...table import Column, Measured, Table
from ..model import Rows
from ..statistics.values import mean, median

COMPARABLE = ("op", "backend", "dtype", "ranks")  # measurements are comparable if these are equal
FIT = ("alpha_us", "beta_gb_s", "residual")
OFF_THE_LINE = 0.1  # a relative error beyond which a note names the size
MEASURED = ("time_us", "time_us_best", "time_us_worst", "algorithm_gb_s", "bus_gb_s")


class Operation(Struct, frozen=True):
    """The measurements of one operation with one back-end, one type and one number of ranks."""

    benchmark: str
    key: tuple[str, ...]  # the values of ``COMPARABLE``
    fits: list[Payload]
    by_size: dict[int, list[Payload]] = field(default_factory=lambda: defaultdict(list))

    @property
    def sizes(self) -> list[int]:
        return sorted(self.by_size)

    def value(self, size: int, name: str) -> float:
        """The median of the value ``name`` at a size; NaN if it is not known."""
        return median(row.get(name) for row in self.by_size[size])


def communication(rows: Rows) -> Table:
    """A row for each operation: its fit, and its bandwidth at the largest size.

    An earlier version of the program fitted alphas below 0, which are no latencies: they are left
    out.
    """
    columns = (
        Column("benchmark"),
        *map(Column, COMPARABLE),
        Column("alpha us", ".4g"),
        Column("beta GB/s", ".4g"),
        Column("residual", ".1%"),
        Column("largest"),
        Column("bus GB/s", ".4g"),
    )
    values = []
    notes: list[str] = []
    for operation in _operations(rows):
        fits = [fit for fit in operation.fits if not _is_negative(fit.get("alpha_us"))]
        alpha, *fit = [median(fit.get(name) for fit in fits) for name in FIT]
        error = median(fit.get("alpha_error_us") for fit in fits)
        notes += _remarks(operation)
        largest = operation.sizes[-1]
        bandwidth = operation.value(largest, "bus_gb_s")
        which = operation.benchmark, *operation.key
        values.append((*which, Measured(alpha, 2 * error), *fit, size_text(largest), bandwidth))
    return Table(columns, tuple(values), "Communication", tuple(notes))


def _is_negative(value: object) -> bool:
    return is_finite(value) and value < 0


def _remarks(operation: Operation) -> Iterator[str]:
    op, *_, ranks = operation.key
    what = f"{operation.benchmark}: {op} of {ranks} ranks"
    told: Counter[float] = Counter()
    worst: list[tuple[float, str]] = []
    for fit in operation.fits:
        switches = fit.get("switches")
        if isinstance(switches, list):
            told.update(filter(is_finite, switches))
        error, size = fit.get("worst_error"), fit.get("worst_bytes")
        if is_finite(error) and is_finite(size):
            worst.append((abs(error), size_text(int(size))))
    switches = sorted(size for size, launches in told.items() if 2 * launches > len(operation.fits))
    if switches:
        sizes = ", ".join(size_text(int(size)) for size in switches)
        yield f"({what} changes at {sizes}: alpha is that of smaller sizes, beta of larger ones)"
    error, place = max(worst, default=(0.0, ""))
    if error > OFF_THE_LINE:
        yield f"({what} is not alpha + bytes / beta: {error:.0%} off at {place})"


def curve(rows: Rows) -> Table:
    """A row for each operation and size."""
    columns = (
        Column("benchmark"),
        *map(Column, COMPARABLE),
        Column("bytes", "d"),
        *(Column(name, ".6g") for name in MEASURED),
    )
    values = []
    for operation in _operations(rows):
        for size in operation.sizes:
            found = [operation.value(size, name) for name in MEASURED]
            values.append((operation.benchmark, *operation.key, size, *found))
    return Table(columns, tuple(values), "Communication by size")


def _operations(rows: Rows) -> Iterator[Operation]:
    for row in rows:
        fits: dict[str, list[Payload]] = defaultdict(list)
        for fit in row.tables.get("comm_fit", ()):
            fits[str(fit.get("op", ""))].append(fit)
        found: dict[tuple[str, ...], Operation] = {}
        for payload in row.tables.get("comm", ()):
            key = tuple(str(payload.get(name, "")) for name in COMPARABLE)
            size = payload.get("bytes")
            if type(size) is int:
                known = found.setdefault(key, Operation(row.name, key, fits[key[0]]))
                known.by_size[size].append(payload)
        yield from found.values()


def size_text(size: int) -> str:
    """Bytes as text, with a binary prefix if that gives a whole number: ``64Mi``, ``1000``."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size and size % 2**power == 0:
            return f"{size >> power}{prefix}"
    return str(size)


def matrix_products(rows: Rows) -> Table:
    """A row for each benchmark that tried several shapes.

    The speed of a shape is the mean over devices, from a short trial on each. The last column is
    the speed that the benchmark then measured, with the fastest shape of each device.
    """
    columns = (
        Column("benchmark"),
        Column("type"),
        Column("shapes", "d"),
        Column("best m x n x k"),
        Column("tried TFLOP/s", ".4g"),
        Column("TFLOP/s", ".4g"),
    )
    values = []
    for row in rows:
        speeds: dict[tuple[str, str], list[float]] = defaultdict(list)
        for payload in row.tables.get("sweep", ()):
            speed = payload.get("tflop_s")
            if is_finite(speed):
                sides = [str(payload.get(side, "?")) for side in ("m", "n", "k")]
                key = str(payload.get("dtype", "")), " x ".join(sides)
                speeds[key].append(speed)
        if speeds:
            means = {key: mean(found) for key, found in speeds.items()}
            best = max(means, key=lambda key: means[key])
            type_, shape = best
            speed = row.like_perf(row.perf)
            values.append((row.name, type_, len(means), shape, means[best], speed))
    return Table(columns, tuple(values), "Matrix products")


def numbers(rows: Rows) -> Table:
    """A row for each number of each benchmark: its mean and deviation, and how many told it."""
    columns = (
        Column("benchmark"),
        Column("number"),
        Column("mean", ".6g"),
        Column("std", ".2g"),
        Column("told by", "d"),  # processes and ranks, over all repeats
    )
    values = []
    for row in rows:
        for name, told in sorted(row.told.items()):
            values.append((row.name, name, told.mean, told.std, len(told.values)))
    return Table(columns, tuple(values), "Numbers of the programs")
