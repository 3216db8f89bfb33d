"""``--override name.key=value``: one more layer, from the command line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..errors import ConfigError, SelectionError, did_you_mean
from .braces import only_field
from .merge import merge_benchmark
from .read import parse
from .tree import Items, Leaf, Node, Origin, Table

_EARLY = {"inherits", "job", "matrix", "presets"}  # these shape what the rest is laid over
_FLAT = {"argv", "env"}  # what follows these is one key, whatever dots it holds


@dataclass(frozen=True)
class Override:
    """A value for one key of every benchmark whose name matches."""

    text: str  # as it was given
    address: str  # name.key.key...
    value: Node


def parse_override(text: str) -> Override:
    """Read ``name.key=value``, the value being YAML; raises ConfigError where it is malformed."""
    address, equals, value = text.partition("=")
    if not equals or "." not in address.strip("."):
        raise ConfigError(
            f"--override {text}: not of the form name.key=value, "
            "such as `resnet50.argv.--batch-size=64`"
        )
    source = f"--override {text}"
    if only_field(value):  # {n_worker} without quotes, which YAML takes for a mapping
        return Override(text, address, Leaf(value, Origin(source)))
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


def early(overrides: Iterable[Override], entries: Mapping[str, Table]) -> dict[str, Table]:
    """Lay on what must be there before expansion and inheritance: templates, sweeps, presets."""
    changed = dict(entries)
    for override in overrides:
        names, keys = locate(override.address, entries)
        for name in names:
            if name.startswith("_") or keys[0] in _EARLY:
                of_job = "job" in entries[name].entries and keys[0] in ("inherits", "presets")
                path = ["job", *keys] if of_job else keys
                changed[name] = _laid(changed[name], path, override)
    return changed


def late(
    overrides: Iterable[Override], entries: Mapping[str, Table], original: Iterable[str]
) -> dict[str, Table]:
    """Lay the rest over the benchmarks, after everything else.

    Raises SelectionError for a name that is neither here nor among the ``original`` entries.
    """
    changed = dict(entries)
    before = list(original)
    for override in overrides:
        names, keys = locate(override.address, entries)
        earlier = locate(override.address, before)[0]
        if not names and not earlier:
            word = override.address.partition(".")[0]
            hint = did_you_mean(word, {*entries, *before} - {"*"})
            raise SelectionError(f"--override {override.text}: no benchmark `{word}`{hint}")
        if not names or keys[0] in _EARLY:
            _check_early(override, before, names)
            continue
        for name in names:
            if not name.startswith("_"):
                changed[name] = _laid(changed[name], keys, override)
    return changed


def _check_early(override: Override, before: Iterable[str], names: list[str]) -> None:
    """Raise SelectionError unless `early` has done what the override asks."""
    earlier, keys = locate(override.address, before)
    if not earlier:
        hint = f"`{names[0]}` comes out of a matrix, whose `job` holds that key"
    elif keys[0] not in _EARLY:
        path = ".".join(keys)
        hint = f"`{earlier[0]}` is a matrix: address its benchmarks, or `{earlier[0]}.job.{path}`"
    else:
        return
    raise SelectionError(f"--override {override.text}: {hint}")


def _keys(path: str) -> list[str]:
    keys = path.split(".")
    for at, key in enumerate(keys[:-1], start=1):
        if key in _FLAT:
            return [*keys[:at], ".".join(keys[at:])]
    return keys


def _laid(entry: Table, keys: list[str], override: Override) -> Table:
    origin = Origin(f"--override {override.text}")
    inside: Node | None = entry
    for key in keys[:-1]:
        inside = inside.entries.get(key) if isinstance(inside, Table) else None
        if isinstance(inside, Items):
            raise ConfigError(f"{origin}: `{key}` is a list ({inside.origin}); replace it whole")
    layer = override.value
    for key in reversed(keys):
        layer = Table({key: layer}, origin)
    merged = merge_benchmark(entry, layer)
    assert isinstance(merged, Table)
    return merged
