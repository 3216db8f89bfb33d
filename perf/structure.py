"""Measures the structure of the code: its size, density, imports, names and tests.

    python perf/structure.py                     this repository
    python perf/structure.py TREE                another one
    python perf/structure.py --before TREE       both, side by side
    python perf/structure.py --list              also the offenders by name

The figures are of the Python files of `milabench_ddp/` and of `benchmarks/` that are not empty:

lines                 all lines, also empty ones and comments
AST nodes             as `ast.walk` yields them
complexity            of a function: 1, and 1 more for each `if`, loop, `except`, `case`,
                      conditional expression, loop and condition of a comprehension, and
                      each further operand of an `and` or `or`
import arrows         pairs of sub-packages of which one imports the other, also inside a
                      function or for types alone
cycles                sets of sub-packages, or of modules, that import one another
`Any` in signatures   functions with `Any` in an annotation of an argument or of the result
open dicts            functions with `dict[str, Any]` or `Mapping[str, Any]` there, except in
                      the modules of OPEN_DICTS
names of several      public classes at the top of a module, module files, public functions at
things                the top of a module: names that are defined more than once, except SHARED
                      and modules of `commands`, whose verbs have a room of the same name
modules without       modules with a function that does something, `a/b.py`, for which there is
a test                no `tests/a/test_b.py` or `tests/a/test_b_*.py`; the test of `a/__init__.py`
                      is `tests/a/test_init.py`, that of `a/main.py` may be `tests/test_a.py`
"""

import argparse
import ast
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from milabench_ddp.table import Column, Table, text_lines
from perf.paired import REPOSITORY
from perf.source_tree import FUNCTIONS, Function, Module, Name, cycles, imports, modules_of

OPEN_DICTS = (
    "codec.py",
    "config/*.py",  # the YAML tree
    "machine/*.py",  # provenance
    "results/read*.py",  # where JSON comes
    "results/write.py",  # and goes
    "report/export.py",
    "report/formats.py",
)
"""Modules that work with arbitrary mappings, such as JSON."""
SHARED = {"main", "run"}
"""The `main` of every program and the `run` of every command."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp)
AIMS = {
    "files": "180",
    "largest file": "300",
    "AST nodes": "170,000",
    "AST nodes per line": "5.8",
    "cycles of sub-packages": "0",
    "cycles of modules": "0",
    "`Any` in signatures": "40",
    "open dicts in signatures": "0",
    "`Namespace` outside cli.py": "0",
    "class names of several things": "0",
    "module names of several things": "0",
    "modules without a test": "0",
}
"""The largest value of each figure for the package."""


def complexity(function: Function) -> int:
    """The cyclomatic complexity of a function, with its inner functions.

    Source: T. J. McCabe, A Complexity Measure, IEEE Transactions on Software Engineering, 1976.
    """
    ways = 1
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, BRANCHES):
                ways += 1
            elif isinstance(node, ast.comprehension):
                ways += 1 + len(node.ifs)
            elif isinstance(node, ast.BoolOp):
                ways += len(node.values) - 1
    return ways


def signature(function: Function) -> str:
    """The annotations of a function, as one text."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found = [each.annotation for each in (*named, arguments.vararg, arguments.kwarg) if each]
    return "; ".join(ast.unparse(each) for each in (*found, function.returns) if each)


def repeated(named: Iterator[tuple[str, str]]) -> list[str]:
    """The names that are defined in several places, each with those places."""
    places = defaultdict(set)
    for name, place in named:
        places[name].add(place)
    return [
        f"{name}: {', '.join(sorted(where))}"
        for name, where in sorted(places.items())
        if len(where) > 1
    ]


def top_level(modules: list[Module], kind: type | tuple[type, ...]) -> Iterator[tuple[str, str]]:
    """The public classes or functions at the top of modules, each with its module's path."""
    for module in modules:
        for node in module.tree.body:
            name = getattr(node, "name", "_")
            if isinstance(node, kind) and not name.startswith("_") and name not in SHARED:
                yield name, str(module.path)


def has_logic(module: Module) -> bool:
    """Whether a function of the module does more than have a docstring, `...` or `pass`."""
    for function in module.functions:
        for statement in function.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text and not isinstance(statement, ast.Pass):
                return True
    return False


def without_test(modules: list[Module], tests: Path) -> list[str]:
    """The modules with logic that have no mirror below the folder of tests."""
    found = []
    for module in modules:
        folder, stem = tests / module.path.parent, module.path.stem.strip("_")
        mirrors = {folder / f"test_{stem}.py", *folder.glob(f"test_{stem}_*.py")}
        if stem == "main":  # of a program
            mirrors.add(folder.parent / f"test_{folder.name}.py")
        if has_logic(module) and not any(mirror.exists() for mirror in mirrors):
            found.append(str(module.path))
    return found


@dataclass(frozen=True)
class Measured:
    """The figures of a tree by their names, and the offenders behind some of them."""

    figures: dict[str, str]
    offenders: dict[str, list[str]]


def measure(root: Path, tests: Path) -> Measured:
    """The figures of the sources below a folder.

    Args:
        root: the folder.
        tests: the folder of tests that mirrors it.
    """
    modules = modules_of(root)
    figures = {**_size(modules), **_density(modules)}
    offenders = {**_imports(modules, figures), **_signatures(modules)}
    # A verb in `commands` and what does it have one name
    files = [m.path for m in modules if "commands" not in m.path.parts]
    stems = ((path.stem, str(path)) for path in files if path.stem not in SHARED)
    offenders |= {
        "class names of several things": repeated(top_level(modules, ast.ClassDef)),
        "module names of several things": repeated(
            (stem, path) for stem, path in stems if not stem.startswith("__")
        ),
        "function names of several things": repeated(top_level(modules, FUNCTIONS)),
        "modules without a test": without_test(modules, tests),
    }
    figures |= {name: str(len(found)) for name, found in offenders.items()}
    source, test = (sum(m.lines for m in each) for each in (modules, modules_of(tests)))
    figures["lines of tests to lines"] = f"{test / source:.2f}" if source else "-"
    return Measured(figures, offenders)


def _size(modules: list[Module]) -> dict[str, str]:
    lines = sum(module.lines for module in modules)
    largest = max(modules, key=lambda module: module.lines)
    length, longest = max(
        ((node.end_lineno or 0) - node.lineno + 1, node.name)
        for module in modules
        for node in module.functions
    )
    return {
        "lines": f"{lines:,}",
        "files": str(len(modules)),
        "files per 1,000 lines": f"{1000 * len(modules) / lines:.1f}",
        "median file": f"{statistics.median(module.lines for module in modules):g}",
        "largest file": f"{largest.lines} {largest.path}",
        "longest function": f"{length} {longest}",
    }


def _density(modules: list[Module]) -> dict[str, str]:
    lines = sum(module.lines for module in modules)
    nodes = [node for module in modules for node in module.nodes]
    kinds = Counter(type(node) for node in nodes)
    comprehensions = sum(kinds[kind] for kind in COMPREHENSIONS)
    ways = [complexity(function) for module in modules for function in module.functions]
    return {
        "AST nodes": f"{len(nodes):,}",
        "AST nodes per line": f"{len(nodes) / lines:.2f}",
        "comprehensions per 1,000 lines": f"{1000 * comprehensions / lines:.1f}",
        "conditional expressions per 1,000 lines": f"{1000 * kinds[ast.IfExp] / lines:.1f}",
        "functions": str(len(ways)),
        "mean complexity": f"{statistics.fmean(ways):.2f}",
    }


def _imports(modules: list[Module], figures: dict[str, str]) -> dict[str, list[str]]:
    known = {module.parts for module in modules}
    between_modules = {module.parts: imports(module, known) for module in modules}
    between_packages: dict[Name, set[Name]] = defaultdict(set)
    for name, others in between_modules.items():
        between_packages[name[:1]] |= {other[:1] for other in others if other[:1] != name[:1]}
    figures["import arrows between sub-packages"] = str(sum(map(len, between_packages.values())))
    return {
        "cycles of sub-packages": [" ".join(each) for each in cycles(dict(between_packages))],
        "cycles of modules": [" ".join(each) for each in cycles(between_modules)],
    }


def _signatures(modules: list[Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"`Any` in signatures": [], "open dicts in signatures": []}
    found["`Namespace` outside cli.py"] = []
    for module in modules:
        for function in module.functions:
            text, place = signature(function), f"{module.path}:{function.lineno} {function.name}"
            if re.search(r"\bAny\b", text):
                found["`Any` in signatures"].append(place)
            is_open = "dict[str, Any]" in text or "Mapping[str, Any]" in text
            if is_open and not any(fnmatch(str(module.path), each) for each in OPEN_DICTS):
                found["open dicts in signatures"].append(place)
            if re.search(r"\bNamespace\b", text) and module.path.name != "cli.py":
                found["`Namespace` outside cli.py"].append(place)
    return found


def of_tree(tree: Path) -> dict[str, Measured]:
    """The package and the programs of a tree, each measured."""
    return {
        "milabench_ddp": measure(tree / "milabench_ddp", tree / "tests"),
        "benchmarks": measure(tree / "benchmarks", tree / "tests" / "benchmarks"),
    }


def table(part: str, trees: dict[str, Measured]) -> Table:
    """The figures of a part of the repository, one column for each tree."""
    columns = [Column(part), *(Column(name, right=True) for name in trees)]
    if part == "milabench_ddp":
        columns.append(Column("aim", right=True))
    rows = []
    for name in next(iter(trees.values())).figures:
        figures = [measured.figures[name] for measured in trees.values()]
        rows.append((name, *figures, AIMS.get(name))[: len(columns)])
    return Table(tuple(columns), tuple(rows))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path, default=REPOSITORY)
    parser.add_argument("--before", type=Path, metavar="TREE", help="another tree to compare with")
    parser.add_argument("--list", action="store_true", help="also list the offenders by name")
    args = parser.parse_args()
    after = of_tree(args.tree)
    before = of_tree(args.before) if args.before else None
    for part, measured in after.items():
        trees = {"before": before[part], "after": measured} if before else {"now": measured}
        print(*text_lines(table(part, trees)), "", sep="\n")
        if args.list:
            for name, found in measured.offenders.items():
                print(f"{part}, {name}:", *(f"    {each}" for each in found), "", sep="\n")


if __name__ == "__main__":
    main()
