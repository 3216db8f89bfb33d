"""Where the script of a benchmark is."""

import os
from dataclasses import replace
from pathlib import Path

from .paths import expanded
from .tree import Leaf, Table


def absolute_paths(entry: Table) -> Table:
    """``definition`` and ``program``, which start from the file that states them, made absolute."""
    entries = dict(entry.entries)
    for key in ("definition", "program"):
        node = entries.get(key)
        if isinstance(node, Leaf) and isinstance(node.value, str):
            path = node.origin.folder / expanded(node.value)
            entries[key] = replace(node, value=os.path.normpath(path))
    return replace(entry, entries=entries)


def program_leaf(entry: Table) -> Leaf | None:
    """What states the program: ``program``, or else ``definition``; None where neither does."""
    for key in ("program", "definition"):
        node = entry.entries.get(key)
        if isinstance(node, Leaf):
            return node
    return None


def program_of(entry: Table) -> Path | None:
    """The script: ``program`` itself, or ``main.py`` in the folder ``definition``."""
    leaf = program_leaf(entry)
    if leaf is None:
        return None
    path = Path(str(leaf.value))
    return path if "program" in entry.entries else path / "main.py"
