"""What a benchmark gets beside its own keys: its preset, and the defaults of keys."""

from msgspec import Struct
from msgspec.structs import replace

from ..errors import SelectionError, did_you_mean
from .conditions import MachineFacts
from .merge import merge_benchmark
from .schema import DEFAULTS
from .tree import DEFAULT, Entries, ListNode, MappingNode, ScalarNode, is_null, text_of
from .written import STANDARD


class PresetResult(Struct, frozen=True):
    """A benchmark after its preset, if it has one of that name, was merged into it."""

    entry: MappingNode  # without its presets
    preset: str | None  # None: the benchmark does not have it
    disables: bool = False  # the preset disables the benchmark


def choose_preset(asked: str, facts: MachineFacts, entries: Entries) -> str:
    """The preset to apply: ``auto`` is ``full`` if there is a GPU, else ``small``."""
    if asked == "auto":
        return "small" if facts.arch == "cpu" else "full"
    known = {"auto", *STANDARD}
    for entry in entries.values():
        known.update(entry.mapping("presets").entries)
    if asked not in known:
        hint = did_you_mean(asked, known) or f"; choose from: {', '.join(sorted(known))}"
        raise SelectionError(f"--preset {asked}: no benchmark has a preset of that name{hint}")
    return asked


def apply_preset(preset: str, entry: MappingNode) -> PresetResult:
    layer = entry.mapping("presets").get(preset)
    bare = entry.without("presets")
    if not isinstance(layer, MappingNode):
        return PresetResult(bare, None)
    # The values of the preset are newer; the benchmark keeps its own place in the file.
    merged = merge_benchmark(bare, replace(layer, origin=entry.origin, replaces=False))
    return PresetResult(merged, preset, disables=layer.scalar("enabled") is False)


def with_defaults(name: str, entry: MappingNode, arch: str) -> MappingNode:
    """A final benchmark with its defaults, and its tags sorted.

    A key whose value is null counts as not stated.
    """
    stated = {key: node for key, node in entry.entries.items() if not is_null(node)}
    group = text_of(stated.get("group")) or name
    for key, default in DEFAULTS.items():
        if key not in stated:
            if isinstance(default, str):
                default = default.format(name=name, group=group, arch=arch)
            stated[key] = ScalarNode(default, DEFAULT)
    tags = {text_of(tag): tag for tag in reversed(entry.items("tags"))}
    if tags and None not in tags:  # else, the check of the key has the better message
        items = tuple(tags[tag] for tag in sorted(tags, key=str))
        stated["tags"] = ListNode(items, stated["tags"].origin)
    return replace(entry, entries=stated)
