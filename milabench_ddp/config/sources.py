"""What the source of a program says, without running it: its options, and what can be probed."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from warnings import catch_warnings

from msgspec import Struct, field

from .limited import read_limited
from .shipped import shipped_root

_MOST = 2**20  # bytes
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
# With these a parser takes what its source does not say.
_OPEN = {"add_subparsers", "parse_known_args", "parse_known_intermixed_args"}
_GROUPS = {"add_argument_group", "add_mutually_exclusive_group"}

Functions = ast.FunctionDef | ast.AsyncFunctionDef


class Source(Struct):
    """A module: its functions and values by their names, and where imported names are from."""

    tree: ast.Module
    functions: dict[str, Functions] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)  # the module, and the name


@cache
def source_of(path: Path) -> Source | None:
    """The source of a file; None if it is not there, or is not Python."""
    try:
        text = read_limited(path, _MOST)
        with catch_warnings(action="ignore"):
            found = Source(ast.parse(text))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in found.tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.functions[node.name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if node.value is not None:
                    found.values[name] = node.value
            case ast.ImportFrom(module=str(module), level=0):
                for each in node.names:
                    found.imported[each.asname or each.name] = module, each.name
    return found


def options_of(program: Path) -> frozenset[str]:
    """The options of a program; none if its source alone does not say which it takes.

    Of the shipped programs those that the function ``options`` adds, and what it calls. Of others
    those of parsers that are given to no other function.
    """
    source = source_of(program)
    if source is None:
        return frozenset()
    root = shipped_root() / "benchmarks"
    if program.is_relative_to(root) and "options" in source.functions:
        return frozenset(_added(source, "options", root.parent, set())) | {"-h", "--help"}
    return _of_parsers(source.tree)


def _added(source: Source, name: str, root: Path, seen: set[ast.AST]) -> Iterator[str]:
    """The options that a function of our programs adds, and those that it calls."""
    scope: ast.AST | None = source.functions.get(name) or source.values.get(name)
    if scope is None:
        module, original = source.imported.get(name, ("", ""))
        other = _module(root, module)
        if other is not None:
            yield from _added(other, original, root, seen)
        return
    if scope in seen:
        return
    seen.add(scope)
    for node in ast.walk(scope):
        match node:
            case ast.Constant(value=str(text)) if _OPTION.fullmatch(text):
                yield text
                yield f"--no-{text[2:]}"  # of a switch that can be turned off
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=called)):
                other = _module(root, ".".join(source.imported.get(owner, ())))
                if other is not None:
                    yield from _added(other, called, root, seen)
            case ast.Call(func=ast.Name(id=called)):
                yield from _added(source, called, root, seen)
            case ast.Name(id=value) if value in source.values:
                yield from _added(source, value, root, seen)


def _module(root: Path, name: str) -> Source | None:
    if not name.startswith("benchmarks."):
        return None
    path = root.joinpath(*name.split("."))
    return source_of(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))


def _of_parsers(tree: ast.Module) -> frozenset[str]:
    """The options of the parsers of a file; none if they are not all plain words of this file."""
    found = {"-h", "--help"}
    bases = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    parsers: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made):
                if _called(made) == "ArgumentParser" or _called(made) in _GROUPS:
                    parsers.add(name)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in parsers and node not in bases:
                return frozenset()  # another function may add options to it
            case ast.Call() if _called(node) in _OPEN:
                return frozenset()
            case ast.Call(keywords=keywords) if _called(node) == "ArgumentParser":
                if {"parents", "fromfile_prefix_chars", "prefix_chars", None} & {
                    keyword.arg for keyword in keywords
                }:
                    return frozenset()
            case ast.Call(args=words) if _called(node) == "add_argument":
                for word in words:
                    match word:
                        case ast.Constant(value=str(text)):
                            found |= {text, f"--no-{text[2:]}"}
                        case _:
                            return frozenset()
    return frozenset(found) if parsers else frozenset()


def _called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


_PROBE = re.compile(r"//(\w+)(?:\s*>\s*(\w+))?")


class Probe(Struct, frozen=True):
    """What a voirfile probes in the script: ``//function > variable``."""

    text: str
    line: int
    column: int
    function: str
    variable: str  # empty where it is none, or not a plain name


def probes_of(voirfile: Path) -> Iterator[Probe]:
    """The probes of the script that a voirfile names as constants."""
    source = source_of(voirfile)
    for node in ast.walk(source.tree) if source else ():
        match node:
            case ast.Call(args=[ast.Constant(value=str(text)) as word]) if _called(node) == "probe":
                if found := _PROBE.match(text.strip()):
                    is_plain = found.end() == len(text.strip())
                    variable = found[2] or "" if is_plain else ""
                    yield Probe(text, word.lineno, word.col_offset + 1, found[1], variable)


def names_in(source: Source, function: str = "") -> frozenset[str]:
    """The functions that a script has or imports, or the variables that one of them sets."""
    found: set[str] = set()
    scopes: list[ast.AST] = [source.tree]
    if function:
        defined = [node for node in ast.walk(source.tree) if isinstance(node, Functions)]
        scopes = [node for node in defined if node.name == function]
    for scope in scopes:
        for node in ast.walk(scope):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=name, asname=other):
                    found.add(other or name)
    return frozenset(found)
