"""Options and probes, read from sources of which they are known."""

import importlib
from pathlib import Path

import pytest

from milabench_ddp.config.sources import functions_of, options_of, probes_of, words_of

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.parent.name for path in REPOSITORY.glob("benchmarks/*/main.py"))
EXAMPLE = REPOSITORY / "tests" / "benchmarks" / "voir_example"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_options_of_our_programs(name: str) -> None:
    """Those that argparse has; only where a program has a few modes, those of all modes."""
    if name == "lightning":
        pytest.importorskip("lightning")
    module = importlib.import_module(f"benchmarks.{name}.main")
    has = {action.option_strings[-1] for action in module.options()._actions}
    has |= {action.option_strings[0] for action in module.options()._actions} - {"-h"}
    found = options_of(REPOSITORY / "benchmarks" / name / "main.py")
    assert {word.replace("--no-", "--", 1) for word in has} <= found
    assert found <= has or name in ("torchvision", "torchvision_ddp", "lightning")


PARSER = (
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-n', '--count')\n"
)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (PARSER + "args = parser.parse_args()", {"-n", "--count", "--help"}),
        (PARSER + "parser.add_argument(\n    '--x')", {"-n", "--count", "--help", "--x"}),
        (PARSER + "g = parser.add_argument_group('more')", {"-n", "--count", "--help"}),
        (PARSER + "parser.parse_known_args()", set()),
        (PARSER + "library.add_options(parser)", set()),
        (PARSER + "library.add_options(1, parser, 2)", set()),
        (PARSER + "for n in names: parser.add_argument(n)", set()),
        (PARSER.replace("Parser()", "Parser(parents=[other])"), set()),
        (PARSER + "parser.add_subparsers()", set()),
        (PARSER + "more = library.parser()\nmore.add_argument('--x')", set()),
        (PARSER + "pre = argparse.ArgumentParser()\nlibrary.add(pre)", set()),
        (PARSER + "from sys import argv", set()),
        (PARSER + "g = parser.add_argument_group('g')\nlibrary.add(g)", set()),
        (PARSER + "parser.add_argument('--' + name)", set()),
        (PARSER + "add = parser.add_argument\nfor name in names: add(name)", set()),
        (PARSER + "parser.add_argument('rest', nargs=argparse.REMAINDER)", set()),
        (PARSER.replace("import argparse", "from jsonargparse import ArgumentParser"), set()),
        (PARSER.replace("import argparse", "import argparse, sys\nsys.argv.pop()"), set()),
        (
            PARSER.replace("import argparse", "from argparse import ArgumentParser").replace(
                "argparse.Arg", "Arg"
            ),
            {"-n", "--count", "--help"},
        ),
        ("import click\n'--count'", set()),
    ],
)
def test_the_options_of_other_programs(tmp_path: Path, source: str, options: set[str]) -> None:
    path = tmp_path / "p.py"
    path.write_text(source)
    assert options_of(path) == options


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert not options_of(tmp_path / "no.py")
    assert list(probes_of(tmp_path / "no.py")) == []


def test_the_probes_of_the_example() -> None:
    ((place, text, *names),) = probes_of(EXAMPLE / "voirfile.py")
    assert names == ["batches", "batch"]
    line = (EXAMPLE / "voirfile.py").read_text().splitlines()[place.line - 1]
    assert line[place.column - 1 :].startswith(text)
    assert functions_of(EXAMPLE / "train.py") >= {"batches", "helper", "sys"}
    assert "batch" in words_of(EXAMPLE / "train.py") - functions_of(EXAMPLE / "train.py")


@pytest.mark.parametrize(
    ("selector", "probes"),
    [
        ("//f", [("f", "")]),
        ("//f > #value", [("f", "")]),
        ("//f(a) as b", [("f", "")]),
        ("/torch.nn/forward", []),
        ("f > x", []),
    ],
)
def test_what_is_read_of_a_selector(tmp_path: Path, selector: str, probes: list[tuple[str, str]]):
    path = tmp_path / "voirfile.py"
    path.write_text(f"ov.probe({selector!r})\nov.probe(made())\n")
    assert [(function, variable) for _, _, function, variable in probes_of(path)] == probes
