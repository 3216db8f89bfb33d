"""``--override name.key=value``: one more layer, from the command line."""

import fnmatch
from collections.abc import Iterable

from msgspec import Struct

from ..errors import ConfigError, SelectionError, did_you_mean, shortened
from ..hidden import hide
from .limits import DEPTH
from .merge import ALL, merge_benchmark
from .mistakes import Apart, MistakeError, keep
from .placeholders import only_name
from .tree import Entries, ListNode, MappingNode, Origin, ScalarNode, TreeNode
from .yaml_reader import parse_yaml

_EARLY = {"inherits", "job", "matrix", "presets"}  # these decide what else is merged
_FLAT = {"argv", "env"}  # the rest of the address is one key, even with dots in it


class Override(Struct, frozen=True):
    """A value for one key of every benchmark whose name matches."""

    address: str  # name.key.key...
    value: TreeNode  # its origin is the option as it was given


def parse_override(text: str) -> Override:
    """Read ``name.key=value``, the value being YAML; raises ConfigError if it is malformed."""
    address, equals, value = text.partition("=")
    if not equals or "." not in address.strip("."):
        raise ConfigError(
            f"--override {shortened(hide(text))}: not of the form name.key=value, "
            "such as `resnet50.argv.--batch-size=64`"
        )
    source = f"--override {shortened(hide(text), 200)}"
    if address.count(".") > DEPTH:
        raise ConfigError(f"{source}: more than {DEPTH} nested keys: name fewer")
    if only_name(value):  # {n_worker} without quotes, which YAML takes for a mapping
        return Override(address, ScalarNode(value, Origin(source)))
    return Override(address, parse_yaml(value, source, line=0))


def locate(address: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split an address: the names it means, and the path of keys inside each of them.

    Names and keys may hold dots: the longest beginning that is a name wins, then the longest
    pattern (``resnet*``) that matches any; patterns do not match templates.
    """
    known = list(names)
    usual = [name for name in known if not name.startswith("_")]
    words = address.split(".")
    splits = [(".".join(words[:at]), words[at:]) for at in range(len(words) - 1, 0, -1)]
    for name, keys in splits:
        if name in known:
            return [name], _keys(keys)
    for pattern, keys in splits:
        found = fnmatch.filter(usual, pattern)
        if found:
            return found, _keys(keys)
    return [], []


def apply_overrides(overrides: Iterable[Override], entries: Entries, *, early: bool) -> Entries:
    """The entries with the values of the overrides, which are the newest layer.

    Args:
        early: True to change only the entries and keys that expansion and inheritance read
            (templates, matrices, parents, presets); False to change only the others.
    """
    changed = dict(entries)
    for override in overrides:
        names, keys = locate(override.address, entries)
        for name in names:
            is_early = name.startswith("_") or keys[0] in _EARLY
            if is_early == early:
                with Apart():
                    changed[name] = _with_value(changed[name], keys, override)
    return changed


def check_overrides(
    overrides: Iterable[Override], before: Iterable[str], after: Iterable[str]
) -> None:
    """Raise SelectionError for an override that changes nothing.

    Args:
        before: the names before expansion, to which early overrides apply.
        after: the names after expansion, to which the others apply.
    """
    for override in overrides:
        names, keys = locate(override.address, after)
        if names and keys[0] not in _EARLY:
            continue
        earlier, keys = locate(override.address, before)
        if earlier and keys[0] in _EARLY:
            continue
        if found := earlier or names:
            hint = f"`{found[0]}` is a matrix, or made by one: address its benchmarks, or its `job`"
        else:
            word = override.address.partition(".")[0]
            hint = f"no benchmark `{word}`{did_you_mean(word, {*after, *before} - {ALL})}"
        keep(SelectionError(f"{override.value.origin}: {hint}"))


def _keys(words: list[str]) -> list[str]:
    for at, word in enumerate(words[:-1], start=1):
        if word in _FLAT:
            return [*words[:at], ".".join(words[at:])]
    return words


def _with_value(entry: MappingNode, keys: list[str], override: Override) -> MappingNode:
    if "job" in entry.entries and keys[0] in ("inherits", "presets"):
        keys = ["job", *keys]
    origin = override.value.origin
    inside: TreeNode | None = entry
    for key in keys[:-1]:
        inside = inside.get(key) if isinstance(inside, MappingNode) else None
        if isinstance(inside, ListNode):
            raise MistakeError(
                f"{origin}: `{key}` is a list ({inside.origin}); replace it whole", inside.origin
            )
    layer = MappingNode({keys[-1]: override.value}, origin)
    for key in reversed(keys[:-1]):
        layer = MappingNode({key: layer}, origin)
    return merge_benchmark(entry, layer)
