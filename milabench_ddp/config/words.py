"""The words that a process gets: the arguments of a command line, and its variables."""

import os
import re
import sys

from .checks import Check, Single, as_mapping, checked, wrong
from .mistakes import MistakeError
from .tree import (
    ListNode,
    MappingNode,
    ScalarNode,
    TreeNode,
    is_null,
    items_of,
    scalar_text,
    value_of,
)

LONGEST_WORD = 2**17 - 1  # bytes of an argument on Linux (MAX_ARG_STRLEN)


def command_line(key: str, node: TreeNode) -> tuple[str, ...]:
    """The words of an ``argv``, a mapping or a list; no words for null.

    In a mapping ``null`` drops an option, ``true`` makes a bare flag (or, for a key without a dash,
    a positional argument that is moved to the front), a list is joined by commas, and the key
    ``--`` adds its list as it is.
    """
    match node:
        case ScalarNode(value=None):
            return ()
        case ListNode():
            return tuple(process_word(key, item) for item in node.items if not is_null(item))
        case MappingNode():
            return _options(node)
        case _:
            raise wrong(key, node, "a mapping of options or a list of words")


def _options(options: MappingNode) -> tuple[str, ...]:
    front: list[str] = []
    words: list[str] = []
    for key, node in options.entries.items():
        match node:
            case ScalarNode(value=None):
                continue
            case _ if key == "--":
                words += command_line("argv", ListNode(items_of(node), node.origin))
            case ScalarNode(value=True):
                (words if key.startswith("-") else front).append(key)
            case ScalarNode(value=False):
                raise MistakeError(
                    f"`{key}: false` in {node.origin}: use null to drop an option", node.origin
                )
            case ListNode():
                words += [key, ",".join(process_word(key, item) for item in node.items)]
            case _:
                words += [key, process_word(key, node)]
    return (*front, *words)


def process_word(key: str, node: TreeNode) -> str:
    """A single value as a text that a process can be given; raises ConfigError if it cannot."""
    if not isinstance(node, ScalarNode):
        raise wrong(key, node, "a single value")
    word = scalar_text(node.value)
    if "\0" in word:
        raise MistakeError(f"`{key}` in {node.origin} holds a null character", node.origin)
    try:
        size = len(os.fsencode(word))
    except UnicodeEncodeError:
        raise MistakeError(
            f"`{key}` in {node.origin} holds an incomplete character, or one that is not in the "
            f"{sys.getfilesystemencoding()} of this locale: choose LC_ALL=C.UTF-8",
            node.origin,
        ) from None
    if size > LONGEST_WORD:
        raise MistakeError(
            f"`{key}` in {node.origin} has more than {LONGEST_WORD:,} bytes, the most that a "
            "program takes as an argument or a variable: give it a file",
            node.origin,
        )
    return word


def named_words(
    pattern: str, what: str, check: Check = process_word, *, flags: bool = False
) -> Check:
    """A mapping of names to single values, as texts; a name whose value is null is left out.

    Args:
        pattern: what a name is made of.
        what: what it names, for messages.
        flags: whether true and null give a name without a value (True), and false leaves it out.
    """

    def check_all(key: str, node: TreeNode) -> dict[str, str | bool]:
        values: dict[str, str | bool] = {}
        for name, value in as_mapping(key, node).entries.items():
            if not re.fullmatch(pattern, name):
                raise MistakeError(
                    f"`{name}` in {value.origin} cannot name {what}", value.origin, name
                )
            if flags and (is_null(value) or isinstance(value_of(value), bool)):
                values |= {name: True} if value_of(value) is not False else {}
            elif not is_null(value):
                text = scalar_text(checked(Single, f"{key}.{name}", value))
                values[name] = check(f"{key}.{name}", ScalarNode(text, value.origin))
        return values

    return check_all


environment = named_words(r"[^=\0]+", "an environment variable")
