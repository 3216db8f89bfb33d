"""Presets: named variations of a benchmark, for machines of different size."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..errors import SelectionError, did_you_mean
from .facts import MachineFacts
from .merge import merge_benchmark
from .tree import Leaf, Node, Table

STANDARD = ("small", "full")
# What a preset may change: how hard the benchmark works, not what it is or how it is laid out.
KEYS = frozenset(
    {"argv", "because", "enabled", "env", "max_duration", "num_machines", "prepare", "voir"}
)


@dataclass(frozen=True)
class Applied:
    """A benchmark after its preset, if it carries one of that name, was laid over it."""

    table: Table  # without its presets
    preset: str | None  # None: it carries none of that name
    disables: bool = False  # the preset is what switches the benchmark off


def choose(asked: str, facts: MachineFacts, entries: Mapping[str, Table]) -> str:
    """The preset that is meant: ``auto`` is ``full`` where there is a GPU, else ``small``.

    Raises SelectionError for a name that is not standard and that no benchmark carries.
    """
    if asked == "auto":
        return "small" if facts.arch == "cpu" else "full"
    carried = {name for entry in entries.values() for name in _presets(entry)}
    if asked not in carried.union(STANDARD):
        known = carried.union(STANDARD, {"auto"})
        hint = did_you_mean(asked, known) or f"; known are: {', '.join(sorted(known))}"
        raise SelectionError(f"--preset {asked}: no benchmark has a preset of that name{hint}")
    return asked


def apply(preset: str, entry: Table) -> Applied:
    """Lay the preset over the benchmark, where it carries it."""
    layer = _presets(entry).get(preset)
    rest = {key: node for key, node in entry.entries.items() if key != "presets"}
    bare = replace(entry, entries=rest)
    if not isinstance(layer, Table):
        return Applied(bare, None)
    # Only what the preset says is newer; its place in the file is no place of the benchmark.
    merged = merge_benchmark(bare, replace(layer, origin=entry.origin, fresh=False))
    assert isinstance(merged, Table)
    switch = layer.entries.get("enabled")
    return Applied(merged, preset, isinstance(switch, Leaf) and switch.value is False)


def _presets(entry: Table) -> Mapping[str, Node]:
    presets = entry.entries.get("presets")
    return presets.entries if isinstance(presets, Table) else {}
