"""The order of the benchmarks in a report, by the fields with a word for ``--sort``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial

from msgspec.structs import replace

from ..errors import SelectionError, did_you_mean, require_known
from .fields import BENCHMARK, Field, ReportedBenchmark
from .model import Report, Row

Key = tuple[float | str, ...]


ORDERS: Mapping[str, Field] = {each.sort: each for each in BENCHMARK if each.sort}


def _key(by: Field, row: Row) -> Key:
    """The largest number first, what is not known last; rates of one unit together."""
    value = by.of(ReportedBenchmark(row))
    if isinstance(value, str):
        return (value,)
    size = math.inf if math.isnan(value) else -abs(value)
    return (row.unit, size) if by.unit == "units/s" else (size,)


def configured(names: Iterable[str], planned: Iterable[str]) -> list[str]:
    """Names in the order of the configuration; those that it does not have come last, by name."""
    order = {name: place for place, name in enumerate(planned)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


def selected(names: Sequence[str], select: Sequence[str]) -> list[str]:
    """The names that ``--select`` takes, without a word all of them.

    Args:
        select: names or globs; raises SelectionError for one that takes no name.
    """
    taken: set[str] = set()
    for word in select:
        fitting = {name for name in names if fnmatchcase(name, word)}
        if not fitting:
            hint = did_you_mean(word, names)
            raise SelectionError(f"--select {word}: no benchmark of that name was measured{hint}")
        taken |= fitting
    return [name for name in names if not select or name in taken]


def in_order(report: Report, name: str) -> Report:
    """The report with its benchmarks in one of ``ORDERS``; ties keep theirs.

    Raises SelectionError if there is no such order.
    """
    require_known("--sort", name, ORDERS)
    return replace(report, rows=tuple(sorted(report.rows, key=partial(_key, ORDERS[name]))))
