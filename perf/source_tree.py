"""The Python files of a tree, and the imports between them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Name = tuple[str, ...]  # of a module, below the root of the sources


@dataclass(frozen=True)
class Module:
    """A Python file: its place below the root of the sources, its text and its syntax tree."""

    path: PurePath
    text: str
    root: tuple[str, ...] = ()  # the prefix of its name in absolute imports
    is_script: bool = False  # a script imports from its folder and the root without the prefix

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.text.splitlines())

    @property
    def parts(self) -> tuple[str, ...]:
        """The module's dotted name below the root, as a tuple."""
        parts = self.path.with_suffix("").parts
        return parts[:-1] if parts[-1] == "__init__" else parts

    @property
    def functions(self) -> list[Function]:
        """All functions, also methods and inner ones."""
        return [node for node in self.nodes if isinstance(node, FUNCTIONS)]


def modules_of(root: Path) -> list[Module]:
    """The files below a folder that are not empty; they are scripts if it is not a package."""
    are_scripts = not (root / "__init__.py").exists()
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text()
        if text.strip():
            place = PurePath(path.relative_to(root))
            found.append(Module(place, text, (root.name,), are_scripts))
    return found


def imports(module: Module, known: set[Name]) -> set[Name]:
    """The modules of the same tree that a module imports.

    Args:
        module: the module.
        known: the names of all modules of the tree.
    """
    found = set()
    for name in _imported(module):
        candidates = []
        if name[: len(module.root)] == module.root:
            candidates.append(name[len(module.root) :])
        elif module.is_script:
            candidates += [name, (*module.parts[:-1], *name)]
        for candidate in candidates:
            for wanted in (candidate, candidate[:-1]):  # a module, or a name in it
                if wanted in known:
                    found.add(wanted)
                    break
    return found - {module.parts}


def _imported(module: Module) -> Iterator[Name]:
    """The absolute names that a module imports, each with the module that it comes from."""
    package = (*module.root, *module.parts)
    if module.path.stem != "__init__":
        package = package[:-1]
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (*alias.name.split("."), "")
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            if node.module:
                start += tuple(node.module.split("."))
            for alias in node.names:
                yield (*start, alias.name)


def cycles(arrows: dict[Name, set[Name]]) -> list[list[str]]:
    """The sets of names that reach one another."""
    reached = {name: _reachable(name, arrows) for name in arrows}
    found = []
    for name, others in reached.items():
        cycle = sorted(other for other in others if name in reached[other])
        if name in others and name == cycle[0]:
            found.append([".".join(each) for each in cycle])
    return found


def _reachable(name: Name, arrows: dict[Name, set[Name]]) -> set[Name]:
    seen: set[Name] = set()
    waiting = list(arrows[name])
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += arrows[each]
    return seen
