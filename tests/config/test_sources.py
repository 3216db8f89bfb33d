"""Options and probes, read from sources of which they are known."""

import importlib
from pathlib import Path

import pytest

from milabench_ddp.config.sources import names_in, options_of, probes_of, source_of

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.parent.name for path in REPOSITORY.glob("benchmarks/*/main.py"))
EXAMPLE = REPOSITORY / "tests" / "benchmarks" / "voir_example"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_options_of_our_programs(name: str) -> None:
    """Those that argparse has; a mode may lack some of the strategies' options."""
    if name == "lightning":
        pytest.importorskip("lightning")
    module = importlib.import_module(f"benchmarks.{name}.main")
    has = {word for action in module.options()._actions for word in action.option_strings}
    found = options_of(REPOSITORY / "benchmarks" / name / "main.py")
    assert has <= found
    extra = {word for word in found if not word.startswith("--no-")} - has
    assert not extra or name in ("torchvision", "torchvision_ddp")


PARSER = "parser = argparse.ArgumentParser()\nparser.add_argument('-n', '--count')\n"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (PARSER + "args = parser.parse_args()", {"-n", "--count"}),
        (PARSER + "g = parser.add_argument_group()\ng.add_argument('--x')", {"--x", "--count"}),
        (PARSER + "parser.parse_known_args()", None),
        (PARSER + "library.add_options(parser)", None),
        (PARSER + "for n in names: parser.add_argument(n)", None),
        (PARSER.replace("Parser()", "Parser(parents=[other])"), None),
        (PARSER + "parser.add_subparsers()", None),
        ("import click", None),
        ("def broken(", None),
    ],
)
def test_the_options_of_other_programs(tmp_path: Path, source: str, options: set[str] | None):
    path = tmp_path / "p.py"
    path.write_text(source)
    found = options_of(path)
    assert found >= options if options else not found


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert source_of(tmp_path / "no.py") is None
    assert not options_of(tmp_path / "no.py")
    assert list(probes_of(tmp_path / "no.py")) == []


def test_the_probes_of_the_example() -> None:
    voirfile = EXAMPLE / "voirfile.py"
    (probe,) = probes_of(voirfile)
    assert (probe.function, probe.variable) == ("batches", "batch")
    line = voirfile.read_text().splitlines()[probe.line - 1]
    assert line[probe.column - 1 :].startswith('"//batches > batch"')
    script = source_of(EXAMPLE / "train.py")
    assert script is not None
    assert "batches" in names_in(script)
    assert names_in(script, "batches") == {"batches", "count", "step", "batch"}


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
    assert [(probe.function, probe.variable) for probe in probes_of(path)] == probes
