"""Which module imports which, in planted files."""

from pathlib import Path

import pytest

from perf.source_tree import cycles, imports, modules_of
from tests.support.planted import parsed, planted

KNOWN = {("a",), ("a", "x"), ("a", "y"), ("b",), ("b", "z")}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import argparse, os.path", set()),
        ("import pkg.b.z", {("b", "z")}),
        ("from pkg.b import z", {("b", "z")}),
        ("from pkg.b import value", {("b",)}),
        ("from pkg.b.z import value", {("b", "z")}),
        ("from . import y", {("a", "y")}),
        ("from .y import value", {("a", "y")}),
        ("from ..b.z import value", {("b", "z")}),
        ("from .. import b", {("b",)}),
        ("def f():\n    from ..b import z", {("b", "z")}),
        ("from other.b import z", set()),
        ("from .x import itself", set()),
    ],
)
def test_imports_of_a_package(line: str, found: set[tuple[str, ...]]) -> None:
    assert imports(parsed(line), KNOWN) == found


def test_imports_of_an_init_are_relative_to_itself() -> None:
    assert imports(parsed("from .x import value", "a/__init__.py"), KNOWN) == {("a", "x")}


def test_a_script_imports_what_is_beside_it() -> None:
    assert imports(parsed("import argparse", script=True), KNOWN) == set()
    assert imports(parsed("import y", script=True), KNOWN) == {("a", "y")}
    assert imports(parsed("from y import value", script=True), KNOWN) == {("a", "y")}
    assert imports(parsed("from b.z import value", script=True), KNOWN) == {("b", "z")}
    assert imports(parsed("from pkg.b.z import value", script=True), KNOWN) == {("b", "z")}
    assert imports(parsed("import y"), KNOWN) == set()  # in a package that is another one


def test_cycles_are_told_once() -> None:
    a, b, c, d = ("a",), ("b",), ("c",), ("d",)
    assert cycles({a: {b}, b: {c}, c: {d}, d: set()}) == []
    assert cycles({a: {b}, b: {c}, c: {a}, d: {a}}) == [["a", "b", "c"]]
    assert cycles({a: {b}, b: {a}, c: {d}, d: {c, a}}) == [["a", "b"], ["c", "d"]]


def test_empty_files_do_not_count(tmp_path: Path) -> None:
    root = planted(tmp_path, {"a/__init__.py": "\n", "a/x.py": "x = 1\n", "a/notes.txt": "x"})
    (module,) = modules_of(root)
    assert module.is_script
    assert module.parts == ("a", "x")
    assert module.lines == 1
