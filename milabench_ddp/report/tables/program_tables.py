"""The tables of what programs report: their numbers, and communication.

A cell is the median over launches. The program fits ``alpha`` and ``beta`` of an operation to the
line ``time = alpha + bytes / beta``, or to several lines, each for a range of sizes. A note says
where the lines change, and where they do not hold. Bus bandwidth is defined as in nccl-tests.
"""

from collections import Counter
from collections.abc import Iterator

from ...results.records import is_finite
from ...table import Column
from ..collectives import COMPARABLE, Operation, operations_of
from ..model import Row, Rows
from .selection import NamedValues, TableOf

OFF_THE_LINE = 0.1  # a relative error beyond which a note names the size
MEASURED = ("time_us", "time_us_best", "time_us_worst", "algorithm_gb_s", "bus_gb_s")


def size_text(size: int) -> str:
    """Bytes as text, with a binary prefix if that gives a whole number: ``64Mi``, ``1000``."""
    for power, prefix in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size and size % 2**power == 0:
            return f"{size >> power}{prefix}"
    return str(size)


def _remarks(rows: Rows) -> Iterator[str]:
    for row in rows:
        for operation in operations_of(row):
            yield from _remarks_on(operation, row.name)


def _remarks_on(operation: Operation, benchmark: str) -> Iterator[str]:
    op, *_, ranks = operation.key
    what = f"{benchmark}: {op} of {ranks} ranks"
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
    if operation.bus > operation.links:
        speed = f"{operation.bus:.4g} GB/s on links of {operation.links:.4g}"
        yield f"({what} has {speed}: NVLS, which adds in the switch, can reach that, a ring cannot)"
    if error > OFF_THE_LINE:
        yield f"({what} is not alpha + bytes / beta: {error:.0%} off at {place})"


def _sizes(row: Row) -> NamedValues:
    """Each operation at each size."""
    for operation in operations_of(row):
        for size in operation.sizes:
            values = {name: operation.value(size, name) for name in MEASURED}
            which = zip(COMPARABLE, operation.key, strict=True)
            yield {**dict(which), "bytes": size, **values}


communication = TableOf(
    "Communication",
    operations_of,
    (
        *(Column(name, "", f"key.{place}") for place, name in enumerate(COMPARABLE)),
        Column("alpha us", ".4g", "alpha"),
        Column("beta GB/s", ".4g", lambda operation: operation.fit("beta_gb_s")),
        Column("residual", ".1%", lambda operation: operation.fit("residual")),
        Column("largest", "", lambda operation: size_text(operation.sizes[-1])),
        Column("bus GB/s", ".4g", "bus"),
        Column("of links", ".1%", lambda operation: operation.bus / operation.links),
        Column("algorithm", "", lambda operation: operation.chosen("algorithm")),  # NCCL's choice
        Column("protocol", "", lambda operation: operation.chosen("protocol")),
    ),
    always=10,
    notes=_remarks,
)
curve = TableOf(
    "Communication by size",
    _sizes,
    (*map(Column, COMPARABLE), Column("bytes", "d"), *(Column(name, ".6g") for name in MEASURED)),
)
numbers = TableOf(
    "Numbers of the programs",
    lambda row: sorted(row.told.items()),
    (
        Column("number", "", "0"),
        Column("mean", ".6g", "1.mean"),
        Column("std", ".2g", "1.std"),
        Column("told by", "d", lambda told: len(told[1].values)),  # over all repeats
    ),
)
