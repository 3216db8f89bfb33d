"""Sizing: worker counts and batch sizes that follow the machine.

Both are off unless ``system.options`` turns them on; its names are milabench's.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct, field

from ..errors import ConfigError
from .checks import memory_mib
from .facts import MachineFacts
from .read import read_yaml
from .tree import ListNode, MappingNode, Origin, ScalarNode, TreeNode, describe_value

_DIGITS = 18  # of a batch size
Observation = tuple[float, float]  # batch size, MiB


class CpuSizing(Struct, frozen=True):
    """``options.cpu``: how many data-loading workers a device gets."""

    auto: bool = False
    min: int = 2
    max: int = 16
    n_workers: int | None = None  # wins over the number computed from the CPUs
    reserved_cores: int = 0  # CPUs of a node that benchmarks leave free

    def workers(self, facts: MachineFacts) -> int:
        """The workers of a device: its share of the CPUs, clamped to ``min`` and ``max``."""
        if self.n_workers is not None:
            return self.n_workers
        share = (facts.cpu_count - self.reserved_cores) // max(1, facts.gpu_count)
        return max(self.min, min(self.max, share))


class BatchSizing(Struct, frozen=True):
    """``options.sizer``: how batch sizes are chosen."""

    auto: bool = False
    batch_size: int | None = None  # wins over the scaling file
    multiple: int = 8  # round down to a multiple of this
    power: int | None = None  # instead: round down to a power of this
    capacity_mib: float | None = None  # instead of the memory of the device
    scaling: Path | None = None  # the scaling file, which holds the observations

    def rounded(self, size: int) -> int:
        """``size``, rounded down to a power or a multiple; unchanged below the first multiple."""
        if self.power is None:
            return size // self.multiple * self.multiple or size
        power = 1
        while power * self.power <= size:
            power *= self.power
        return power


class SizingOptions(Struct, frozen=True):
    """``system.options``."""

    batch: BatchSizing = field(default_factory=BatchSizing)
    cpu: CpuSizing = field(default_factory=CpuSizing)


class Sizer(Struct, frozen=True, dict=True):
    """Chooses the batch size of ``auto_batch``; reads the scaling file on first use."""

    options: BatchSizing
    facts: MachineFacts

    @cached_property
    def _observed(self) -> Mapping[str, Sequence[Observation]]:
        return read_scaling(self.options.scaling) if self.options.scaling else {}

    def batch_size(self, benchmark: str, default: str) -> str:
        """The batch size for a benchmark; ``default`` where sizing is off or nothing is known."""
        options = self.options
        capacity = options.capacity_mib or self.facts.gpu_capacity_mib
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


def read_scaling(path: Path) -> dict[str, list[Observation]]:
    """The observations of each benchmark's memory; reads milabench's versions 1 and 2.

    Raises ConfigError, with the place, for a file of another form.
    """
    benchmarks = read_yaml(path).without("version")
    return {name: _observations(node) for name, node in benchmarks.entries.items()}


def _observations(node: TreeNode) -> list[Observation]:
    if not isinstance(node, MappingNode):
        raise ConfigError(f"{node.origin}: expected a mapping, got {describe_value(node)}")
    observed = []
    match node.get("observations"), node.get("model"):
        case ListNode(items), _:
            for item in items:
                observed.append(_observation(item))
        case None, MappingNode(entries):
            for size, memory in entries.items():
                observed.append(_of_size(size, memory.origin, memory))
        case None, None:
            pass
        case _:
            raise ConfigError(f"{node.origin}: `observations` must be a list, `model` a mapping")
    return observed


def _observation(node: TreeNode) -> Observation:
    match node:
        case MappingNode({"batch_size": ScalarNode(size, origin), "memory": memory}):
            return _of_size(str(size), origin, memory)
    raise ConfigError(f"{node.origin}: an observation needs `batch_size` and `memory`")


def _of_size(size: str, origin: Origin, memory: TreeNode) -> Observation:
    if not size.isdecimal() or len(size) > _DIGITS or int(size) < 1:
        raise ConfigError(f"{origin}: `{size}` is not a batch size")
    return float(size), memory_mib("memory", memory)
