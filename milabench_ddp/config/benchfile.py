"""Reads from the ``benchfile.py`` of a benchmark of milabench what its script is; runs nothing.

class TheBenchmark(Package):
    main_script = "train.py"

__pack__ = TheBenchmark
"""

import ast
import os
from functools import cache
from pathlib import Path
from warnings import catch_warnings

from .limited import read_limited
from .tree import MappingNode, ScalarNode, expanded, is_file, shown, text_of

DEFAULT_SCRIPT = "main.py"
_MOST = 2**20  # bytes


@cache
def main_script(definition: Path) -> str:
    """The script of the benchmark in a folder, or its package, relative to the folder.

    It is milabench's default, ``main.py``, unless the class of the benchmark, or one in the same
    file that it inherits from, states another as a constant.
    """
    try:
        source = read_limited(definition / "benchfile.py", _MOST)
        with catch_warnings(action="ignore"):
            module = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return DEFAULT_SCRIPT
    classes = {each.name: each for each in module.body if isinstance(each, ast.ClassDef)}
    name = _name(_assigned(module.body).get("__pack__"))
    seen: set[str] = set()
    while name in classes and name not in seen:
        seen.add(name)
        stated = _assigned(classes[name].body).get("main_script")
        if stated is not None:
            return _text(stated) or DEFAULT_SCRIPT
        name = next(map(_name, classes[name].bases), "")
    return DEFAULT_SCRIPT


def _assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    values: dict[str, ast.expr] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                values |= {_name(target): value for target in targets}
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                values[_name(target)] = value
    return values


def _name(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


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
