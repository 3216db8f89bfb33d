"""OmegaConf's ``${...}`` over the mapping of all benchmarks."""

from functools import partial
from typing import Any

from ..errors import ConfigError
from .tree import (
    Entries,
    Location,
    MappingNode,
    ScalarNode,
    TreeNode,
    from_plain,
    map_scalars,
    scalars,
    to_plain,
)

_MARK = "${"


def interpolate(entries: Entries) -> Entries:
    """Resolve every ``${...}``, absolute (``${name.weight}``) or relative (``${..weight}``).

    Templates may be referred to and are left as they are. The tree must be final. Raises
    ConfigError with the place of the interpolation that fails.
    """
    marked = []
    for entry in entries.values():
        marked += [scalar for scalar in scalars(entry) if _is_marked(scalar)]
    if not marked:
        return entries
    from omegaconf import OmegaConf  # takes 50 ms, and most configurations do not need it

    for scalar in marked:
        _check_grammar(scalar)
    root = OmegaConf.create({name: to_plain(entry) for name, entry in entries.items()})
    resolved = dict(entries)
    for name, entry in entries.items():
        if not name.startswith("_"):
            changed = map_scalars(entry, partial(_resolve, root), (name,))
            assert isinstance(changed, MappingNode)
            resolved[name] = changed
    return resolved


def _is_marked(scalar: ScalarNode) -> bool:
    return isinstance(scalar.value, str) and _MARK in scalar.value


def _check_grammar(scalar: ScalarNode) -> None:
    """Parse the interpolation alone, because OmegaConf does not say which one is malformed."""
    from omegaconf import OmegaConf
    from omegaconf.errors import GrammarParseError

    try:
        OmegaConf.create([scalar.value])
    except GrammarParseError:
        text = f"`{scalar.value}` in {scalar.origin}"
        raise ConfigError(f"malformed interpolation {text}") from None


def _resolve(root: Any, scalar: ScalarNode, location: Location) -> TreeNode:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not _is_marked(scalar):
        return scalar
    value = root
    try:
        for key in location:
            value = value[key]
        if OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=True)
    except OmegaConfBaseException as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(
            f"`{scalar.value}` in {scalar.origin} cannot be resolved: {reason} "
            "(`${..key}` is a key of the same benchmark, `${name.key}` of another)"
        ) from None
    return from_plain(value, scalar.origin)
