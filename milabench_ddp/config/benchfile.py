"""Reads from the ``benchfile.py`` of a benchmark of milabench what its script is; runs nothing.

class TheBenchmark(Package):
    main_script = "train.py"

__pack__ = TheBenchmark
"""

import os
import re
from functools import cache
from pathlib import Path

from .sources import source_of
from .tree import MappingNode, ScalarNode, expanded, is_file, shown, text_of

DEFAULT_SCRIPT = "main.py"
_SCRIPT = re.compile(
    r"""^[^#\n]*\bmain_script(?:: *\w+)? *= *f?["']([^"'{\n]+)["'] *(?:#.*)?$""", re.MULTILINE
)


@cache
def main_script(definition: Path) -> str:
    """The script of the benchmark in a folder, or its package, relative to the folder.

    It is milabench's default, ``main.py``, unless a class in the file states another as a constant:
    the last one, as classes that inherit from another come after it.
    """
    stated = _SCRIPT.findall(source_of(definition / "benchfile.py"))
    return stated[-1] if stated else DEFAULT_SCRIPT


def absolute_paths(entry: MappingNode) -> MappingNode:
    changes = {}
    for key in ("program", "definition"):
        node = entry.get(key)
        stated = text_of(node)
        if node and stated is not None:
            path = node.origin.folder / expanded(stated)
            changes[key] = ScalarNode(os.path.normpath(path), node.origin)
    return entry.with_entries(changes)


def program_of(entry: MappingNode) -> Path | None:
    """The script: ``program`` itself, or else that of the folder ``definition``; None without both.

    That of a folder is ``main.py``, or what its ``benchfile.py`` names; of a package there, its
    ``__main__.py``.
    """
    program, definition = entry.text("program"), entry.text("definition")
    if program:
        return Path(program)
    if not definition:
        return None
    script = Path(definition) / main_script(Path(definition))
    return script / "__main__.py" if script.is_dir() else script


def module_of(entry: MappingNode) -> str:
    """The package that ``python -m`` runs in the folder ``definition``; empty for a script."""
    definition = entry.text("definition")
    if entry.text("program") or not definition:
        return ""
    script = main_script(Path(definition))
    return ".".join(Path(script).parts) if (Path(definition) / script).is_dir() else ""


def why_no_program(entry: MappingNode) -> str:
    """Why the program of a benchmark cannot be run; empty if it is there, or none is stated."""
    path = program_of(entry)
    if path is None or is_file(path):
        return ""
    key = "program" if entry.text("program") else "definition"
    what = "a folder, no file" if path.is_dir() else "no such file"
    return f"{what}: {shown(path)} ({key} in {entry.entries[key].origin})"
