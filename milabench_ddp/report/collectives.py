"""The collective operations that programs measured, over sizes."""

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct, field

from ..config.published import data_sheets
from ..grouping import grouped
from ..results.records import Payload, is_finite
from ..table import Measured
from .mfu import device_of
from .model import Row
from .statistics.values import NAN, median

COMPARABLE = ("op", "backend", "dtype", "ranks")  # measurements are comparable if these are equal


class Operation(Struct, frozen=True):
    """The measurements of one operation with one back-end, one type and one number of ranks."""

    key: tuple[str, ...]  # the values of ``COMPARABLE``
    fits: list[Payload]
    by_size: dict[int, list[Payload]] = field(default_factory=lambda: defaultdict(list))
    links: float = NAN  # GB/s of a device's links one way, by its data sheet; NaN on several nodes

    @property
    def sizes(self) -> list[int]:
        return sorted(self.by_size)

    def fit(self, name: str) -> float:
        """The median of a number of its fit.

        An earlier version of the program fitted alphas below 0, which are no latencies: such fits
        are left out.
        """
        fits = [fit for fit in self.fits if not _is_negative(fit.get("alpha_us"))]
        return median(fit.get(name) for fit in fits)

    @property
    def alpha(self) -> Measured:
        return Measured(self.fit("alpha_us"), 2 * self.fit("alpha_error_us"))

    def value(self, size: int, name: str) -> float:
        return median(row.get(name) for row in self.by_size[size])

    @property
    def bus(self) -> float:
        return self.value(self.sizes[-1], "bus_gb_s")

    def chosen(self, name: str) -> str:
        return max(str(row.get(name) or "") for row in self.by_size[self.sizes[-1]])


def operations_of(row: Row) -> Iterator[Operation]:
    fits = grouped((str(fit.get("op", "")), fit) for fit in row.tables.get("comm_fit", ()))
    found: dict[tuple[str, ...], Operation] = {}
    sheet = device_of(row.counted[0].record)[0] if row.counted and row.nodes == 1 else ""
    links = data_sheets()[sheet].links_gb_s if sheet else None
    for payload in row.tables.get("comm", ()):
        key = tuple(str(payload.get(name, "")) for name in COMPARABLE)
        size = payload.get("bytes")
        if type(size) is int:
            known = found.setdefault(key, Operation(key, fits.get(key[0], []), links=links or NAN))
            known.by_size[size].append(payload)
    yield from found.values()


def _is_negative(value: object) -> bool:
    return is_finite(value) and value < 0
