"""``--override name.key=value``: one more layer, from the command line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..errors import ConfigError, SelectionError, did_you_mean
from .merge import ALL, merge_benchmark
from .placeholders import only_name
from .read import parse
from .tree import ListNode, MappingNode, Origin, ScalarNode, TreeNode

_EARLY = {"inherits", "job", "matrix", "presets"}  # these decide what else is merged
_FLAT = {"argv", "env"}  # what follows these is one key, whatever dots it holds


@dataclass(frozen=True)
class Override:
    """A value for one key of every benchmark whose name matches."""

    text: str  # as it was given
    address: str  # name.key.key...
    value: TreeNode


def parse_override(text: str) -> Override:
    """Read ``name.key=value``, the value being YAML; raises ConfigError where it is malformed."""
    address, equals, value = text.partition("=")
    if not equals or "." not in address.strip("."):
        raise ConfigError(
            f"--override {text}: not of the form name.key=value, "
            "such as `resnet50.argv.--batch-size=64`"
        )
    source = f"--override {text}"
    if only_name(value):  # {n_worker} without quotes, which YAML takes for a mapping
        return Override(text, address, ScalarNode(value, Origin(source)))
    return Override(text, address, parse(value, source, line=0))


def locate(address: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split an address: the names it means, and the path of keys inside each of them.

    Names and keys may hold dots: the longest beginning that is a name wins, then the longest
    pattern (``resnet*``) that matches any; patterns do not match templates.
    """
    known = list(names)
    cuts = [at for at, char in enumerate(address) if char == "."]
    for cut in reversed(cuts):
        if address[:cut] in known:
            return [address[:cut]], _keys(address[cut + 1 :])
    for cut in reversed(cuts):
        found = [n for n in known if fnmatchcase(n, address[:cut]) and not n.startswith("_")]
        if found:
            return found, _keys(address[cut + 1 :])
    return [], []


def override_early(
    overrides: Iterable[Override], entries: Mapping[str, MappingNode]
) -> dict[str, MappingNode]:
    """Change what expansion and inheritance read: templates, matrices, parents, presets."""
    changed = dict(entries)
    for override in overrides:
        names, keys = locate(override.address, entries)
        for name in names:
            if not name.startswith("_") and keys[0] not in _EARLY:
                continue
            of_job = "job" in entries[name].entries and keys[0] in ("inherits", "presets")
            path = ["job", *keys] if of_job else keys
            changed[name] = _with_value(changed[name], path, override)
    return changed


def override_late(
    overrides: Iterable[Override], entries: Mapping[str, MappingNode], original: Iterable[str]
) -> dict[str, MappingNode]:
    """Change everything else, after all other layers.

    Raises SelectionError for a name that is neither here nor among the ``original`` entries.
    """
    changed = dict(entries)
    before = list(original)
    for override in overrides:
        names, keys = locate(override.address, entries)
        if not names or keys[0] in _EARLY:
            _check_early(override, before, entries, names)
            continue
        for name in names:
            if not name.startswith("_"):
                changed[name] = _with_value(changed[name], keys, override)
    return changed


def _check_early(
    override: Override, before: list[str], entries: Iterable[str], names: list[str]
) -> None:
    """Raise SelectionError unless `override_early` has done what the override asks."""
    earlier, keys = locate(override.address, before)
    if earlier and keys[0] in _EARLY:
        return
    if earlier:
        path = ".".join(keys)
        hint = f"`{earlier[0]}` is a matrix: address its benchmarks, or `{earlier[0]}.job.{path}`"
    elif names:
        hint = f"`{names[0]}` comes out of a matrix, whose `job` holds that key"
    else:
        word = override.address.partition(".")[0]
        hint = f"no benchmark `{word}`{did_you_mean(word, {*entries, *before} - {ALL})}"
    raise SelectionError(f"--override {override.text}: {hint}")


def _keys(path: str) -> list[str]:
    keys = path.split(".")
    for at, key in enumerate(keys[:-1], start=1):
        if key in _FLAT:
            return [*keys[:at], ".".join(keys[at:])]
    return keys


def _with_value(entry: MappingNode, keys: list[str], override: Override) -> MappingNode:
    origin = Origin(f"--override {override.text}")
    inside: TreeNode | None = entry
    for key in keys[:-1]:
        inside = inside.get(key) if isinstance(inside, MappingNode) else None
        if isinstance(inside, ListNode):
            raise ConfigError(f"{origin}: `{key}` is a list ({inside.origin}); replace it whole")
    value = override.value
    for key in reversed(keys[1:]):
        value = MappingNode({key: value}, origin)
    return merge_benchmark(entry, MappingNode({keys[0]: value}, origin))
