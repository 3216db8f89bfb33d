"""OmegaConf's ``${...}`` over the mapping of all benchmarks."""

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from .tree import Items, Leaf, Node, Origin, Table, node_of, plain

_MARK = "${"


def interpolate(entries: Mapping[str, Table]) -> dict[str, Table]:
    """Resolve every ``${...}``, absolute (``${name.weight}``) or relative (``${..weight}``).

    Templates may be referred to and are left as they are. The tree must be settled. Raises
    ConfigError with the place of the interpolation that fails.
    """
    marked = [name for name, entry in entries.items() if _has_mark(entry)]
    if not marked:
        return dict(entries)
    from omegaconf import OmegaConf  # 50 ms that most configurations need not spend

    for name in marked:
        _check_grammar(entries[name])
    root = OmegaConf.create({name: plain(entry) for name, entry in entries.items()})
    resolved = dict(entries)
    for name in marked:
        if not name.startswith("_"):
            table = _resolve(entries[name], root, (name,))
            assert isinstance(table, Table)
            resolved[name] = table
    return resolved


def _has_mark(node: Node) -> bool:
    match node:
        case Leaf(value=str(text)):
            return _MARK in text
        case Items():
            return any(_has_mark(item) for item in node.items)
        case Table():
            return any(_has_mark(value) for value in node.entries.values())
        case _:
            return False


def _check_grammar(node: Node) -> None:
    """Parse each interpolation alone, because OmegaConf does not say which one is malformed."""
    from omegaconf import OmegaConf
    from omegaconf.errors import GrammarParseError

    match node:
        case Leaf(value=str(text)) if _MARK in text:
            try:
                OmegaConf.create([text])
            except GrammarParseError:
                raise ConfigError(f"malformed interpolation `{text}` in {node.origin}") from None
        case Items():
            for item in node.items:
                _check_grammar(item)
        case Table():
            for value in node.entries.values():
                _check_grammar(value)


def _resolve(node: Node, root: Any, path: tuple[str | int, ...]) -> Node:
    match node:
        case Leaf(value=str(text)) if _MARK in text:
            return node_of(_value(text, node.origin, root, path), node.origin)
        case Items():
            items = (_resolve(item, root, (*path, at)) for at, item in enumerate(node.items))
            return Items(tuple(items), node.origin)
        case Table():
            entries = {key: _resolve(v, root, (*path, key)) for key, v in node.entries.items()}
            return Table(entries, node.origin)
        case _:
            return node


def _value(text: str, origin: Origin, root: Any, path: tuple[str | int, ...]) -> Any:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    value = root
    try:
        for key in path:
            value = value[key]
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(
            f"`{text}` in {origin} cannot be resolved: {reason} "
            "(`${..key}` is a key of the same benchmark, `${name.key}` of another)"
        ) from None
