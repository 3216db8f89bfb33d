"""Sizing: worker counts and batch sizes that follow the machine.

Both are off unless ``system.options`` turns them on; its names are milabench's.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from .checks import Count, Natural, checked
from .conditions import MachineFacts
from .tree import finalize

Observation = tuple[int, float]  # batch size, MiB

_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d*)?)\s*((?:([kmgt])(i?))?[bo])?", re.IGNORECASE)


class Memory(float):
    """MiB, from an amount such as ``3885 MiB``, ``80 GiB``, ``4Go``, or a bare number of MiB."""

    def __new__(cls, stated: object) -> "Memory":
        found = _AMOUNT.fullmatch(str(stated).strip())
        if found is None:
            raise ValueError("an amount of memory such as `81920 MiB`")
        amount, unit, letter, binary = found.groups()
        power = " kmgt".index((letter or " ").lower()) if unit else 2
        base = 1000 if unit and not binary else 1024
        return super().__new__(cls, float(amount) * float(base**power) / 2**20)


# milabench also writes 1 and 0
_Switch = Annotated[bool | Literal[0, 1], Meta(description="true or false")]


class CpuSizing(Struct, frozen=True, forbid_unknown_fields=True):
    """``options.cpu``: how many data-loading workers a device gets."""

    auto: _Switch = False
    min: Count = 2
    max: Count = 16
    n_workers: Natural | None = None  # wins over the number computed from the CPUs
    reserved_cores: Natural = 0  # CPUs of a node that benchmarks leave free

    def workers(self, facts: MachineFacts) -> int:
        if self.n_workers is not None:
            return self.n_workers
        share = (facts.cpu_count - self.reserved_cores) // max(1, facts.gpu_count)
        return max(self.min, min(self.max, share))


class BatchSizing(Struct, frozen=True, forbid_unknown_fields=True):
    """``options.sizer``: how batch sizes are chosen."""

    auto: _Switch = False
    batch_size: Count | None = None  # wins over the scaling file
    multiple: Count = 8  # round down to a multiple of this
    power: Annotated[int, Meta(ge=2)] | None = None  # instead: round down to a power of this
    capacity: Memory | None = None  # instead of the memory of the device
    config: Path | None = None  # the scaling file, which holds the observations
    save: Path | None = None  # the one that milabench writes; read where there is no ``config``

    def rounded(self, size: int) -> int:
        """``size``, rounded down to a power or a multiple; unchanged below the first multiple."""
        if self.power is None:
            return size // self.multiple * self.multiple or size
        power = 1
        while power * self.power <= size:
            power *= self.power
        return power


class SizingOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """``system.options``."""

    sizer: BatchSizing = BatchSizing()
    cpu: CpuSizing = CpuSizing()


class Sizer(Struct, frozen=True, dict=True):
    """Chooses the batch size of ``auto_batch``; reads the scaling file on first use."""

    options: BatchSizing
    facts: MachineFacts

    @cached_property
    def _observed(self) -> Mapping[str, Sequence[Observation]]:
        path = self.options.config or self.options.save
        return read_scaling(path) if path else {}

    def batch_size(self, benchmark: str, default: str) -> str:
        """The batch size for a benchmark; ``default`` where sizing is off or nothing is known."""
        options = self.options
        capacity = options.capacity or self.facts.gpu_capacity_mib
        if options.batch_size is not None:
            return str(options.batch_size)
        if not options.auto or capacity <= 0:
            return default
        largest = largest_batch(self._observed.get(benchmark, []), capacity)
        return default if largest is None else str(options.rounded(largest))


def largest_batch(observed: Sequence[Observation], capacity_mib: float) -> int | None:
    """The largest batch size whose memory, fitted as a line by least squares, fits.

    One batch size alone does not determine a line: memory is then taken as proportional to it.
    None if there are no observations, if memory does not grow with the batch size, or if no batch
    size fits.
    """
    if not observed:
        return None
    from statistics import fmean, linear_regression  # takes 8 ms, mostly unused

    sizes, memory = zip(*observed, strict=True)
    if len(set(sizes)) > 1:
        slope, fixed = linear_regression(sizes, memory)
    else:
        slope, fixed = fmean(memory) / sizes[0], 0.0
    if slope <= 0:
        return None
    largest = int((capacity_mib - fixed) / slope)
    return largest if largest >= 1 else None


_Model = Annotated[
    dict[Count, Memory], Meta(description="a mapping of batch sizes to their memory")
]


class _Observation(Struct):
    batch_size: Count
    memory: Memory


class _Scaling(Struct):
    observations: tuple[_Observation, ...] = ()
    model: _Model = {}  # of version 1


def read_scaling(path: Path) -> dict[str, Sequence[Observation]]:
    """The observations of each benchmark's memory; reads milabench's versions 1 and 2."""
    from .yaml_reader import read_yaml  # here, as in system.py

    observed: dict[str, Sequence[Observation]] = {}
    for name, node in finalize(read_yaml(path)).without("version").entries.items():
        stated: _Scaling = checked(_Scaling, name, node)
        found = [(each.batch_size, each.memory) for each in stated.observations]
        observed[name] = found or list(stated.model.items())
    return observed
