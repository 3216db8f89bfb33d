"""OmegaConf's ``${...}`` over the mapping of all benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, chain
from typing import Any

from ..errors import ConfigError, shortened
from . import limits
from .mistakes import Apart, MistakeError, collected
from .tree import (
    Entries,
    Location,
    MappingNode,
    Origin,
    ScalarNode,
    TreeNode,
    from_plain,
    map_scalars,
    text_of,
    to_plain,
    walk,
)

_MARK = "${"
_TEXT = 1000  # characters that count as another value


def interpolate(entries: Entries) -> Entries:
    """Resolve every ``${...}``, absolute (``${name.weight}``) or relative (``${..weight}``).

    Where no benchmark has the name, ``${weight}`` is a key of the same benchmark, as it was in
    milabench's files before they had ``${..weight}``. Templates may be referred to and are left as
    they are. The tree must be final. Raises ConfigError with the place of the interpolation that
    fails.
    """
    count = 0
    with collected():  # OmegaConf reads all of them at once
        for node in chain.from_iterable(map(walk, entries.values())):
            text = text_of(node) or ""
            if _MARK in text:
                count += text.count(_MARK)
                if count > limits.REFERENCES:
                    raise ConfigError(
                        f"`${{...}}` in {node.origin}: a configuration has at most "
                        f"{limits.REFERENCES:,} of them: state some values"
                    )
                with Apart():
                    _check_grammar(text, node.origin)  # takes 0.2 ms for each reference
    if not count:
        return entries
    from omegaconf import OmegaConf  # takes 50 ms, and most configurations do not need it

    root = OmegaConf.create({name: to_plain(entry) for name, entry in entries.items()})
    resolved = dict(entries)
    with _bounded():
        for name, entry in entries.items():
            if not name.startswith("_") and "inherits" not in entry.entries:  # all of it is known
                del resolved[name]
                with Apart():
                    alone = OmegaConf.create(to_plain(entry))
                    changed = map_scalars(entry, partial(_resolve, root, alone), (name,))
                    assert isinstance(changed, MappingNode)
                    resolved[name] = changed
    return resolved


@contextmanager
def _bounded() -> Iterator[None]:
    """Bound the work within: OmegaConf resolves a value anew for each reference to it.

    So a few lines that refer to each other twice would take for ever.
    """
    from omegaconf.base import Container
    from omegaconf.errors import InterpolationResolutionError

    resolve = Container._resolve_interpolation_from_parse_tree
    left = limits.REFERENCES

    def counted(*args: Any, **keywords: Any) -> Any:
        nonlocal left
        found = resolve(*args, **keywords)
        left -= 1 + len(str(found)) // _TEXT
        if left < 0:
            raise InterpolationResolutionError(f"more than {limits.REFERENCES:,} references")
        return found

    patched: Any = Container
    patched._resolve_interpolation_from_parse_tree = counted
    try:
        yield
    finally:
        patched._resolve_interpolation_from_parse_tree = resolve


def _check_grammar(text: str, origin: Origin) -> None:
    """Parse the interpolation alone, because OmegaConf does not say which one is malformed."""
    from omegaconf import OmegaConf
    from omegaconf.errors import GrammarParseError

    depth = accumulate((1 if brace == "{" else -1) for brace in text if brace in "{}")
    if max(depth) > limits.BRACES:  # the time of its parser grows with the square of the depth
        raise MistakeError(
            f"malformed interpolation `{shortened(text)}` in {origin}: "
            f"more than {limits.BRACES} nested braces",
            origin,
        )
    try:
        OmegaConf.create([text])
    except (GrammarParseError, RecursionError):
        raise MistakeError(f"malformed interpolation `{text}` in {origin}", origin) from None


def _resolve(root: object, alone: object, scalar: ScalarNode, location: Location) -> TreeNode:
    from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

    if _MARK not in str(scalar.value):
        return scalar
    try:
        value = _value(root, location)
    except (OmegaConfBaseException, RecursionError) as error:
        try:
            if not isinstance(error, InterpolationKeyError):
                raise
            value = _value(alone, location[1:])
        except (OmegaConfBaseException, RecursionError):
            reason = str(error).partition("\n")[0]
            raise MistakeError(
                f"`{scalar.value}` in {scalar.origin} cannot be resolved: {reason} "
                "(`${..key}` is a key of the same benchmark, `${name.key}` of another)",
                scalar.origin,
            ) from None
    return from_plain(value, scalar.origin)


def _value(root: Any, location: Location) -> object:
    from omegaconf import OmegaConf

    value = root
    for key in location:
        value = value[key]
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
