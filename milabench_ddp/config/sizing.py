"""Sizing: worker counts and batch sizes that follow the machine.

Both are off unless ``system.options`` (its names are milabench's) switches them on.
"""

from dataclasses import dataclass, field
from pathlib import Path

from .facts import MachineFacts
from .scaling import Observation, largest_batch, read_scaling


@dataclass(frozen=True)
class CpuOptions:
    """``options.cpu``: how many data-loading workers a device gets."""

    auto: bool = False
    min: int = 2
    max: int = 16
    n_workers: int | None = None  # wins over what the machine has
    reserved_cores: int = 0  # CPUs of a node that are not for the benchmarks

    def workers(self, facts: MachineFacts) -> int:
        """The CPUs of a device, clamped to ``min`` and ``max``."""
        if self.n_workers is not None:
            return self.n_workers
        share = (facts.cpu_count - self.reserved_cores) // max(1, facts.gpu_count)
        return max(self.min, min(self.max, share))


@dataclass(frozen=True)
class SizerOptions:
    """``options.sizer``: how batch sizes are chosen."""

    auto: bool = False
    batch_size: int | None = None  # wins over the scaling file
    multiple: int = 8  # round down to a multiple of this
    power: int | None = None  # instead: round down to a power of this
    capacity_mib: float | None = None  # instead of the memory of the device
    scaling: Path | None = None  # the scaling file: what was observed

    def rounded(self, size: int) -> int:
        """``size`` rounded down to a power or a multiple; itself where it is smaller than that."""
        if self.power is None:
            return size // self.multiple * self.multiple or size
        power = 1
        while power * self.power <= size:
            power *= self.power
        return power


@dataclass(frozen=True)
class Options:
    """``system.options``."""

    sizer: SizerOptions = field(default_factory=SizerOptions)
    cpu: CpuOptions = field(default_factory=CpuOptions)


@dataclass
class Sizer:
    """Answers ``auto_batch``; reads the scaling file when it is first needed."""

    options: SizerOptions
    facts: MachineFacts
    _observed: dict[str, list[Observation]] | None = None

    def batch_size(self, benchmark: str, default: str) -> str:
        """The batch size for a benchmark; ``default`` where sizing is off or nothing is known."""
        options = self.options
        capacity = options.capacity_mib or self.facts.gpu_capacity_mib
        if options.batch_size is not None:
            return str(options.batch_size)
        if not options.auto or options.scaling is None or capacity <= 0:
            return default
        if self._observed is None:
            self._observed = read_scaling(options.scaling)
        largest = largest_batch(self._observed.get(benchmark, []), capacity)
        return default if largest is None else str(options.rounded(largest))
