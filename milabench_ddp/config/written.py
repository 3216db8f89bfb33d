"""Checks a benchmark as a file or an option states it, before layers are merged."""

from collections.abc import Collection
from contextlib import suppress

from .checks import IncompleteError, as_mapping, check_keys
from .mistakes import Apart, MistakeError
from .schema import KEYS
from .tree import DeleteNode, MappingNode, TreeNode, finalize, is_null, text_of, walk

STANDARD = ("small", "full")  # the presets that `auto` chooses from
# What a preset may state: presets change the size of the work only.
_PRESET_KEYS = {
    *("argv", "because", "enabled", "env", "max_duration", "max_output", "num_machines"),
    *("prepare", "voir"),
}
_JOB_KEYS = {*KEYS, "inherits", "name", "presets"}
_WRITTEN_KEYS = {*KEYS, "inherits", "job", "presets"}


def check_written(layer: MappingNode, known: Collection[str] = _WRITTEN_KEYS) -> None:
    """Check a benchmark, its job and its presets as a file or an option states them.

    A later layer may replace a wrong value, and then `check_values` does not see it. What needs
    another layer is not checked: placeholders, and parts that are missing.
    """
    check_keys(known, layer)
    for name, node in layer.entries.items():
        if _is_absent(node):
            continue
        with Apart():
            if name == "job" and isinstance(node, MappingNode):
                check_written(node, _JOB_KEYS)
            elif name == "presets":
                _check_presets(as_mapping(name, node, "a mapping of presets"))
            elif name in KEYS and not any("{" in (text_of(part) or "") for part in walk(node)):
                with suppress(IncompleteError):
                    KEYS[name](name, finalize(node))


def _check_presets(presets: MappingNode) -> None:
    for name, stated in presets.entries.items():
        with Apart():
            if meant := _misspelt(name):
                message = f"preset `{name}` in {stated.origin}: did you mean `{meant}`?"
                raise MistakeError(message, stated.origin, name)
            if not _is_absent(stated):
                check_written(as_mapping(f"presets.{name}", stated), _PRESET_KEYS)


def _misspelt(preset: str) -> str:
    """The standard preset that a name has but for a letter; a preset may have any other name."""
    if preset in STANDARD or not preset.isalpha():
        return ""
    from difflib import get_close_matches  # few presets have other names

    near = get_close_matches(preset.lower(), STANDARD, 1, 0.8)
    return near[0] if near and abs(len(near[0]) - len(preset)) < 2 else ""


def _is_absent(node: TreeNode) -> bool:
    return isinstance(node, DeleteNode) or is_null(node)
