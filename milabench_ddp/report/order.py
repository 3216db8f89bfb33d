"""The order of the benchmarks in a report. A new order is a line in ``ORDERS``."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from ..errors import SelectionError, one_of
from .model import Report, Row

Key = tuple[float | str, ...]


def _largest(value: float) -> float:
    """The largest first, what is not known last."""
    return math.inf if math.isnan(value) else -value


ORDERS: Mapping[str, Callable[[Row], Key]] = {
    "name": lambda row: (row.name,),
    "perf": lambda row: (row.unit, _largest(row.perf)),  # rates in different units do not compare
    "ms": lambda row: (_largest(row.step_ms),),
    "mfu": lambda row: (_largest(row.used.mfu),),
    "std": lambda row: (_largest(row.std),),
    "drift": lambda row: (_largest(abs(row.drift)),),
    "memory": lambda row: (_largest(row.peak_memory),),
    "fail": lambda row: (_largest(row.fail),),
}


def configured(names: Iterable[str], planned: Iterable[str]) -> list[str]:
    """Names in the order of the configuration; those that it does not have come last, by name."""
    order = {name: place for place, name in enumerate(planned)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


def is_selected(name: str, select: Sequence[str]) -> bool:
    """Whether a benchmark has one of these names, or fits one of the globs; without any it does."""
    return not select or any(fnmatchcase(name, each) for each in select)


def in_order(report: Report, name: str) -> Report:
    """The report with its benchmarks in one of ``ORDERS``; ties keep theirs.

    Raises SelectionError if there is no such order.
    """
    if name not in ORDERS:
        raise SelectionError(f"--sort {name}: unknown; {one_of(name, list(ORDERS))}")
    return replace(report, rows=tuple(sorted(report.rows, key=ORDERS[name])))
