"""``argv`` of the configuration -> words of a command line."""

from ..errors import ConfigError
from .tree import Items, Leaf, Node, Table, describe, is_null, scalar_text


def command_line(node: Node | None) -> tuple[str, ...]:
    """The words of an ``argv``, a mapping or a list; nothing for none.

    In a mapping ``null`` drops an option, ``true`` makes a bare flag (or, for a key without a dash,
    a positional argument that is moved to the front), a list is joined by commas, and the key
    ``--`` adds its list as it is. Raises ConfigError for anything that is no argument.
    """
    match node:
        case None | Leaf(value=None):
            return ()
        case Items():
            return tuple(_word("argv", item) for item in node.items if not is_null(item))
        case Table():
            return _from_table(node)
        case _:
            raise ConfigError(
                f"wrong value for `argv` in {node.origin}: "
                f"expected a mapping of options or a list of words, got {describe(node)}"
            )


def _from_table(table: Table) -> tuple[str, ...]:
    front: list[str] = []
    words: list[str] = []
    for key, node in table.entries.items():
        match node:
            case Leaf(value=None):
                continue
            case Leaf(value=True):
                (words if key.startswith("-") else front).append(key)
            case Leaf(value=False):
                raise ConfigError(f"`{key}: false` in {node.origin}: use null to cancel an option")
            case _ if key == "--":
                rest = node if isinstance(node, Items) else Items((node,), node.origin)
                words += command_line(rest)
            case Items():
                words += [key, ",".join(_word(key, item) for item in node.items)]
            case _:
                words += [key, _word(key, node)]
    return (*front, *words)


def _word(key: str, node: Node) -> str:
    if not isinstance(node, Leaf):
        raise ConfigError(
            f"wrong value for `{key}` in {node.origin}: "
            f"expected a single value, got {describe(node)}"
        )
    text = scalar_text(node.value)
    if "\0" in text:
        raise ConfigError(f"`{key}` in {node.origin} holds a null character")
    return text
