"""Reads from the ``benchfile.py`` of a benchmark of milabench what its script is; runs nothing.

class TheBenchmark(Package):
    main_script = "train.py"

__pack__ = TheBenchmark
"""

import ast
from functools import cache
from pathlib import Path

from . import syntax
from .files import read_limited

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
        with syntax.no_warnings():
            module = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return DEFAULT_SCRIPT
    classes = {each.name: each for each in module.body if isinstance(each, ast.ClassDef)}
    name = next((_name(value) for value in _assigned(module.body, "__pack__")), "")
    seen: set[str] = set()
    while name in classes and name not in seen:
        seen.add(name)
        for value in _assigned(classes[name].body, "main_script"):
            return _text(value) or DEFAULT_SCRIPT
        name = next(map(_name, classes[name].bases), "")
    return DEFAULT_SCRIPT


def _assigned(body: list[ast.stmt], name: str) -> list[ast.expr]:
    """The values that a body assigns to a name, the last one first."""
    found = []
    for statement in reversed(body):
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        value = getattr(statement, "value", None)
        if value is not None and name in map(_name, targets):
            found.append(value)
    return found


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    """A constant text; an f-string without a placeholder is one."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
