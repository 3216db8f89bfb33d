"""What is said of programs that cannot be run as a benchmark says."""

from pathlib import Path

import pytest

from milabench_ddp.errors import ConfigError
from tests.support.configuration import only, suite, write

TRAIN = "def batches(count):\n    for step in range(count):\n        batch = [step]\n"


def said(text: str) -> str:
    with pytest.raises(ConfigError) as error:
        suite(f"b:\n  plan: {{method: per_gpu}}\n{text}")
    return str(error.value)


def test_a_program_that_is_not_executable(here: Path) -> None:
    write("run.sh", "#!/bin/sh\n")
    assert said("  program: run.sh").startswith("`program` in x.yaml:3: run.sh is not executable")
    Path("run.sh").chmod(0o755)
    assert only("b: {program: run.sh, plan: {method: per_gpu}}").program == here / "run.sh"


def test_a_program_that_is_a_folder(here: Path) -> None:
    Path("train").mkdir()
    assert said("  program: train") == "a folder, no file: train (program in x.yaml:3)"


def test_voir_without_its_file(here: Path) -> None:
    text = "  program: main.py\n  instrument: voir"
    assert "in x.yaml:4 needs voirfile.py, which is not there" in said(text)
    stated = "program: main.py, plan: {method: per_gpu}, instrument: voir"
    assert only(f"b: {{{stated}, env: {{VOIRFILE: v}}}}").voir == {}


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        ("//batches > batch", ""),
        ("//batches", ""),
        ("//helper > step", ""),  # imported
        ("//batchs > batch", "main.py has no function `batchs`: did you mean `batches`?"),
        ("//batches > bacth", "main.py has no variable `bacth`: did you mean `batch`?"),
    ],
)
def test_a_probe(here: Path, probe: str, message: str) -> None:
    write("main.py", f"from other import helper\n{TRAIN}")
    write("voirfile.py", f"def instrument_main(ov):\n    ov.probe({probe!r})\n")
    text = "  program: main.py\n  instrument: voir"
    if message:
        assert said(text).startswith(f"probe `{probe}` in voirfile.py:2: main.py ")
        assert said(text).endswith(message.removeprefix("main.py "))
    else:
        suite(f"b:\n  plan: {{method: per_gpu}}\n{text}")


@pytest.mark.parametrize(
    ("argv", "wrong"),
    [
        ("{--batch-size: 1}", ""),
        ("{--batch: 1}", ""),  # argparse takes a beginning
        ("{--batch-sise: 1}", "--batch-sise"),
        ("{--batch-sise: null}", "--batch-sise"),
        ("[--batch-size=3, '-1', a]", ""),
        ("['--bacth=3']", "--bacth"),
        ("{--: ['--bacth']}", "--bacth"),
        ("['--', '--bacth']", ""),
        ("['{arch}', '--{arch}']", ""),
    ],
)
def test_an_option(here: Path, argv: str, wrong: str) -> None:
    write(
        "main.py",
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--batch-size", type=int)
    """,
    )
    text = f"  program: main.py\n  argv: {argv}"
    if wrong:
        hint = "main.py has no such option: did you mean `--batch-size`?"
        assert said(text) == f"option `{wrong}` in x.yaml:4: {hint}"
    else:
        suite(f"b:\n  plan: {{method: per_gpu}}\n{text}")


def test_all_of_one_program(here: Path) -> None:
    write("main.py", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\n")
    found = said("  program: main.py\n  instrument: voir\n  argv: {--y: 1}").split("\n")
    assert [line.split(" in ")[0] for line in found] == ["`instrument: voir`", "option `--y`"]


def test_an_option_of_a_preset_that_is_not_chosen(here: Path) -> None:
    text = "  inherits: _f\n  presets: {other: {argv: {--wramup: 3}}}\n_f: {program: main.py}"
    write("main.py", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--warmup')\n")
    assert said(text).startswith("option `--wramup` in x.yaml:4: ")


def test_the_options_of_a_template_where_a_preset_disables_it(here: Path) -> None:
    """They are of other programs; but a benchmark that is disabled itself is checked."""
    write("main.py", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\n")
    stated = "program: main.py, plan: {method: per_gpu}"
    off = "presets: {small: {argv: {--y: 1}}, full: {enabled: false}}"
    template = f"_t: {{{off}}}\n"
    with pytest.raises(ConfigError, match=r"^option `--y` in x.yaml:1: "):
        suite(f"{template}b: {{inherits: _t, {stated}}}")
    off = "presets: {small: {enabled: false, argv: {--y: 1}}}"
    for preset in ("small", "full"):
        suite(f"b: {{{stated}, {off}}}", preset=preset)
    with pytest.raises(ConfigError, match=r"^option `--y` in x.yaml:1: "):
        suite(f"b: {{{stated}, enabled: false, argv: {{--y: 1}}}}")
