"""The numbers that programs tell about themselves, over processes, ranks and repeats.

Of a number that a rank tells more than once, what it told in the steady state counts, and its mean.
The mean of a speed is over time, as that of the rate.
"""

import statistics
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from ..numerics import np
from ..results.columns import MetricColumn
from .process import Processes, ProcessResult
from .statistics.values import deviation, total

TFLOPS = "tflops_per_gpu"  # model TFLOP/s of a device
# Programs that tell these once do so over all steps after their warm-up. The rate of the steady
# state over that of all these steps, to this power, makes them numbers of the steady state.
POWER_OF_RATE: Mapping[str, int] = {TFLOPS: 1, "step_ms": -1}


class Told(Struct, frozen=True, dict=True):
    """A number that programs told: one value for each process and rank that told it."""

    values: tuple[float, ...]

    @cached_property
    def mean(self) -> float:
        """The mean of the values; a value that all have told stays as it is, also an integer."""
        first = self.values[0]
        if all(value == first for value in self.values):
            return first
        return statistics.fmean(self.values)

    @cached_property
    def std(self) -> float:
        return deviation(self.values)


def told_numbers(processes: Processes) -> dict[str, Told]:
    names = dict.fromkeys(name for process in processes for name in process.record.numbers)
    numbers = {name: told_by(processes, name) for name in names}
    return {name: told for name, told in numbers.items() if told is not None}


def told_by(processes: Processes, name: str) -> Told | None:
    """The number ``name`` of the ranks of these processes; None if they told none."""
    values: list[float] = []
    for process in processes:
        for told in process.record.numbers.get(name, {}).values():
            values.append(_in_steady_state(process, name, told))
    return Told(tuple(values)) if values else None


def _in_steady_state(process: ProcessResult, name: str, told: MetricColumn) -> float:
    """The mean of what a rank told under a name; an integer that was told once stays one."""
    power = POWER_OF_RATE.get(name)
    if len(told.numbers) == 1:
        value = told.numbers[0]
        return value if power is None else value * process.steady_over_all**power
    observed = process.observed
    # several ranks may have told rates, which are one series of their sums
    rates_each = process.record.told.usable / max(observed, 1)
    before = process.steady.start * rates_each
    values, seen = told.numbers.values(), told.seen.values()
    # what is told of an observation comes after it; what comes before all is of none of them
    is_steady = (seen == 0) | (seen > before)
    if not is_steady.any():
        is_steady[:] = True
    values = values[is_steady]
    if power == 1 and observed:
        place = np.maximum(np.ceil(seen[is_steady] / rates_each) - 1, 0).astype(int)
        seconds = process.measured.seconds[place]
        return total(values * seconds) / total(seconds)
    if (values == values[0]).all():
        return told.numbers[int(np.argmax(is_steady))]
    return total(values) / len(values)
