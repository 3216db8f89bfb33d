"""Scaling files: how much memory a benchmark was seen to take at which batch size."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError
from .quantity import mebibytes
from .read import read
from .tree import Items, Leaf, Node, Origin, Table, describe

Observation = tuple[float, float]  # batch size, MiB


def read_scaling(path: Path) -> dict[str, list[Observation]]:
    """What was observed of each benchmark; reads milabench's versions 1 and 2.

    Raises ConfigError, with the place, for a file of another form.
    """
    entries = read(path).entries
    return {name: _observations(node) for name, node in entries.items() if name != "version"}


def largest_batch(observed: Sequence[Observation], capacity_mib: float) -> int | None:
    """The largest batch size whose memory, fitted as a line by least squares, fits.

    One batch size alone fits no line: memory is then taken as proportional to it. None where
    nothing was observed, where memory does not grow with the batch size, or where none fits.
    """
    if not observed:
        return None
    mean_size = sum(size for size, _ in observed) / len(observed)
    mean_memory = sum(memory for _, memory in observed) / len(observed)
    variance = sum((size - mean_size) ** 2 for size, _ in observed)
    if variance > 0:
        slope = sum((s - mean_size) * (m - mean_memory) for s, m in observed) / variance
    else:
        slope = mean_memory / mean_size
    if slope <= 0:
        return None
    fixed = mean_memory - slope * mean_size
    largest = int((capacity_mib - fixed) / slope)
    return largest if largest >= 1 else None


def _observations(node: Node) -> list[Observation]:
    if not isinstance(node, Table):
        raise ConfigError(f"{node.origin}: expected a mapping, got {describe(node)}")
    new, old = node.entries.get("observations"), node.entries.get("model")
    if isinstance(new, Items):
        return [_observation(item) for item in new.items]
    if new is None and isinstance(old, Table):
        return [(_size(size, node.origin), mebibytes(node)) for size, node in old.entries.items()]
    if new is None and old is None:
        return []
    raise ConfigError(f"{node.origin}: `observations` must be a list, `model` a mapping")


def _observation(node: Node) -> Observation:
    entries = node.entries if isinstance(node, Table) else {}
    size, memory = entries.get("batch_size"), entries.get("memory")
    if not isinstance(size, Leaf) or memory is None:
        raise ConfigError(f"{node.origin}: an observation needs `batch_size` and `memory`")
    return _size(str(size.value), size.origin), mebibytes(memory)


def _size(text: str, origin: Origin) -> float:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{origin}: `{text}` is no batch size")
    return float(text)
