"""Every program has a page, and every option of its ``--help`` is there or on a shared page."""

import argparse
import re

import pytest

from tests.support.programs import BENCHMARKS, program

PAGES = BENCHMARKS.parent / "docs" / "programs"
PROGRAMS = sorted(path.parent.name for path in BENCHMARKS.glob("*/main.py"))
TWO_ON_ONE = {"torchvision_ddp": "torchvision"}
SUCCEEDS = {
    "comm": "nccl-tests",
    "elastic_ddp": "tutorial",
    "flops": "milabench",
    "gpt": "ptd_benchmark",
    "lightning": "milabench",
    "membw": "BabelStream",
    "pairs": "nvbandwidth",
    "transfer": "nvbandwidth",
    "torchvision": "milabench",
    "torchvision_ddp": "milabench",
    "transformers": "ddp_experiments",
}


def page(name):
    return (PAGES / f"{TWO_ON_ONE.get(name, name)}.rst").read_text()


def shared(name):
    """What the pages say that all programs share."""
    return "".join((PAGES / f"{which}.rst").read_text() for which in ("training", "strategies"))


def explained(option, text):
    return re.search(rf"{option}(?![\w-])", text) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_option_is_explained(name):
    own, common = page(name), shared(name)
    missing = []
    for action in program(name).options()._actions:
        options = [
            o for o in action.option_strings if o.startswith("--") and not o.startswith("--no-")
        ]
        if isinstance(action, argparse._HelpAction):
            continue
        if not any(explained(option, own) or explained(option, common) for option in options):
            missing.append(options)
    assert not missing


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_option_of_one_program_alone_is_on_its_own_page(name):
    others = {
        option
        for other in PROGRAMS
        if TWO_ON_ONE.get(other, other) != TWO_ON_ONE.get(name, name)
        for action in program(other).options()._actions
        for option in action.option_strings
    }
    mine = {o for action in program(name).options()._actions for o in action.option_strings}
    assert [
        o for o in sorted(mine - others) if o[:2] == "--" and not explained(o, page(name))
    ] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_page_measures_by_a_formula_and_compares(name):
    text = page(name)
    assert re.search(r" = .*(/|\*) ", text), "a formula"
    assert re.search(rf"\nCompared with .*{SUCCEEDS.get(name, '')}", text)


def test_the_index_has_every_page():
    index = (PAGES / "index.rst").read_text()
    for path in PAGES.glob("*.rst"):
        assert path.name == "index.rst" or f":doc:`{path.stem}`" in index, path


def test_an_option_that_is_explained_nowhere_is_seen():
    assert not explained("--step", "the option ``--steps``")
    assert explained("--steps", "the option ``--steps``, and others")
