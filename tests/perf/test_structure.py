"""The figures of planted trees, whose answers are known."""

import subprocess
import sys
from pathlib import Path

import pytest

from perf.structure import REPOSITORY, complexity, measure, table
from tests.support.planted import parsed, planted
from tests.support.wait import PATIENCE

PLAIN = {
    "__init__.py": "",
    "errors.py": '"""Errors."""\n\n\nclass Broken(Exception):\n    """It is broken."""\n',
    "low/__init__.py": "",
    "low/read.py": "from ..errors import Broken\n\n\ndef read(x: int) -> int:\n    return x + 1\n",
    "high/show.py": "from pkg.low.read import read\n\n\ndef show():\n    return read(1)\n",
}
"""Three files that are not empty, each of 5 lines; two arrows and nothing to object to."""


def offenders(tmp_path: Path, files: dict[str, str], *tests: str) -> dict[str, list[str]]:
    root = planted(tmp_path / "pkg", files)
    mirrors = planted(tmp_path / "tests", dict.fromkeys(tests, "x = 1\n"))
    return measure(root, mirrors).offenders


def test_a_tree_without_faults(tmp_path: Path) -> None:
    root = planted(tmp_path / "pkg", PLAIN)
    tests = {"low/test_read.py": "x = 1\n" * 2, "high/test_show.py": "x = 1\n" * 4}
    found = measure(root, planted(tmp_path / "tests", tests))
    assert found.offenders == {name: [] for name in found.offenders}
    figures = found.figures
    assert figures["lines"] == "15"
    assert figures["files"] == "3"
    assert figures["files per 1,000 lines"] == "200.0"
    assert figures["median file"] == "5"
    assert figures["longest function"] == "2 show"
    assert figures["functions"] == "2"
    assert figures["mean complexity"] == "1.00"
    assert figures["import arrows between sub-packages"] == "2"
    assert figures["lines of tests to lines"] == "0.40"


def test_what_a_line_carries(tmp_path: Path) -> None:
    text = "def f(a):\n    return [b for b in a if b] if a else {c: 1 for c in a}\n"
    found = measure(planted(tmp_path / "pkg", {"x.py": text}), tmp_path / "tests").figures
    assert found["comprehensions per 1,000 lines"] == "1000.0"
    assert found["conditional expressions per 1,000 lines"] == "500.0"
    # Module, FunctionDef, arguments, arg, Return, IfExp, Name; ListComp, Name, comprehension,
    # three Names; DictComp, Name, Constant, comprehension, two Names; and Load or Store of 8 Names
    assert found["AST nodes"] == str(7 + 6 + 6 + 8)
    assert found["AST nodes per line"] == "13.50"


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("pass", 1),
        ("if x: pass", 2),
        ("if x and y and z: pass", 4),
        ("if x: pass\n    elif y: pass\n    else: pass", 3),
        ("for a in x:\n        while y: pass", 3),
        ("try: x\n    except A: pass\n    except B: pass", 3),
        ("return 1 if x else 2", 2),
        ("return [a for a in x if a if not a]", 4),
        ("match x:\n        case 1: pass\n        case _: pass", 3),
        ("def g():\n        if x: pass", 2),
    ],
)
def test_complexity(body: str, ways: int) -> None:
    (function,) = parsed(f"def f(x, y=0, z=0):\n    {body}\n").functions[:1]
    assert complexity(function) == ways


def test_modules_that_import_one_another(tmp_path: Path) -> None:
    later = "def show():\n    from ..high import show\n    return show\n"
    found = offenders(tmp_path, {**PLAIN, "low/later.py": later})
    assert found["cycles of sub-packages"] == ["high low"]
    assert found["cycles of modules"] == []
    found = offenders(tmp_path, {"errors.py": "from .low.read import read\n"})
    assert found["cycles of modules"] == ["errors low.read"]


def test_open_signatures(tmp_path: Path) -> None:
    text = """
        def one(x: Any): pass
        def two(x: int, *, y: Mapping[str, Any]) -> None: pass
        def three(*rest: str) -> dict[str, Any]: pass
        def four(x: "Anything", args: argparse.Namespace): pass
    """
    found = offenders(tmp_path, {"x.py": text, "codec.py": text, "cli.py": text})
    there = ["x.py:2 one", "x.py:3 two", "x.py:4 three"]
    assert [each for each in found["`Any` in signatures"] if "x.py" in each] == there
    of_dicts = found["open dicts in signatures"]
    assert of_dicts == ["cli.py:3 two", "cli.py:4 three", "x.py:3 two", "x.py:4 three"]
    assert found["`Namespace` outside cli.py"] == ["codec.py:5 four", "x.py:5 four"]


def test_names_of_several_things(tmp_path: Path) -> None:
    text = "class Job: pass\nclass _Job: pass\ndef build(): pass\ndef run(): pass\n"
    found = offenders(tmp_path, {"a/x.py": text, "b/y.py": text, "b/x.py": "", "c/x.py": "X = 1\n"})
    assert found["class names of several things"] == ["Job: a/x.py, b/y.py"]
    assert found["module names of several things"] == ["x: a/x.py, c/x.py"]
    assert found["function names of several things"] == ["build: a/x.py, b/y.py"]


def test_modules_without_a_test(tmp_path: Path) -> None:
    acts = "def f():\n    return 1\n"
    names = ("a/x.py", "a/y.py", "a/z.py", "b/__init__.py", "b/__main__.py", "prog/main.py")
    files = dict.fromkeys(names, acts)
    files["a/plain.py"] = 'class P(Protocol):\n    def f(self) -> None:\n        """Do it."""\n'
    found = offenders(tmp_path, files, "a/test_x.py", "a/test_y_faults.py", "b/test_z.py")
    missing = ["a/z.py", "b/__init__.py", "b/__main__.py", "prog/main.py"]
    assert found["modules without a test"] == missing
    found = offenders(
        tmp_path, {}, "a/test_z.py", "b/test_init.py", "b/test_main.py", "test_prog.py"
    )
    assert found["modules without a test"] == []


def test_two_trees_stand_side_by_side(tmp_path: Path) -> None:
    root, tests = planted(tmp_path / "pkg", PLAIN), tmp_path / "tests"
    before = measure(root, tests)
    after = measure(planted(root, {"errors.py": ""}), tests)
    rows = {row[0]: row[1:] for row in table("milabench_ddp", {"a": before, "b": after}).rows}
    assert rows["files"] == ("3", "2", "180")
    assert rows["lines"] == ("15", "10", None)
    assert rows["modules without a test"] == ("2", "2", "0")


@pytest.mark.slow
def test_it_measures_this_repository() -> None:
    command = [sys.executable, "perf/structure.py", "--before", "."]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("milabench_ddp")]
    assert [cell.strip() for cell in line.split("|")[1:]] == ["before", "after", "aim"]
