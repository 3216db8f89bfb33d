"""Observations of a rate one by one, as tests write them, and as a result file holds them."""

from collections.abc import Iterable
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from milabench_ddp.results.columns import doubles
from milabench_ddp.results.rate_columns import RateColumns, Rates
from milabench_ddp.results.rates import is_finite


class Observation(NamedTuple):
    rate: Any
    steps: int | None = None
    warmup: bool = False
    rank: int = 0
    time: float | None = None
    elapsed: float | None = None
    arrived: float | None = None
    repeated: bool = False


def rate_columns(observations: Iterable[Observation]) -> RateColumns:
    """The columns of observations."""
    rates = Rates()
    for name, told in zip(Observation._fields, zip(*observations, strict=True), strict=False):
        if name == "rate":
            rates.rate.add(*doubles(told))
        else:
            values = [
                float(value) if isinstance(value, bool) or is_finite(value) else nan
                for value in told
            ]
            rates.columns[name].add(np.array(values))
    return rates.load()


def observations(rates: Rates) -> list[Observation]:
    """The observations of a file."""
    found = rates.load()
    columns = [list(rates.rate)]
    for name in Observation._fields[1:]:
        columns.append(getattr(found, name).tolist())
    return [Observation(*map(_told, told)) for told in zip(*columns, strict=True)]


def _told(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value
