"""Presets: named variations of a benchmark, for machines of different size."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..errors import SelectionError, did_you_mean
from .facts import MachineFacts
from .merge import merge_benchmark
from .tree import Entries, MappingNode, TreeNode

STANDARD = ("small", "full")


class PresetResult(Struct, frozen=True):
    """A benchmark after its preset, if it has one of that name, was merged into it."""

    entry: MappingNode  # without its presets
    preset: str | None  # None: the benchmark does not have it
    disables: bool = False  # the preset disables the benchmark


def choose_preset(asked: str, facts: MachineFacts, entries: Entries) -> str:
    """The preset to apply: ``auto`` is ``full`` if there is a GPU, else ``small``.

    Raises SelectionError for a name that is not standard and that no benchmark has.
    """
    if asked == "auto":
        return "small" if facts.arch == "cpu" else "full"
    known = {"auto", *STANDARD}
    for entry in entries.values():
        known.update(_presets(entry))
    if asked not in known:
        hint = did_you_mean(asked, known) or f"; choose from: {', '.join(sorted(known))}"
        raise SelectionError(f"--preset {asked}: no benchmark has a preset of that name{hint}")
    return asked


def apply_preset(preset: str, entry: MappingNode) -> PresetResult:
    """Merge the preset into the benchmark, if the benchmark has a preset of that name."""
    layer = _presets(entry).get(preset)
    bare = entry.without("presets")
    if not isinstance(layer, MappingNode):
        return PresetResult(bare, None)
    # The values of the preset are newer; the benchmark keeps its own place in the file.
    merged = merge_benchmark(bare, replace(layer, origin=entry.origin, replaces=False))
    return PresetResult(merged, preset, disables=layer.scalar("enabled") is False)


def _presets(entry: MappingNode) -> Mapping[str, TreeNode]:
    presets = entry.mapping("presets")
    return presets.entries if presets else {}
