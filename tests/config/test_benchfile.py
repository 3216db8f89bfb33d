"""What milabench's benchmarks call their scripts."""

from pathlib import Path

import pytest

from milabench_ddp.config.benchfile import main_script
from tests.support.configuration import only, resolved, write

PACK = (
    "from milabench.pack import Package\n\n\nclass Bench(Package):\n    {}\n\n\n__pack__ = Bench\n"
)


@pytest.mark.parametrize(
    ("body", "script"),
    [
        ('main_script = "train.py"', "train.py"),
        ("main_script: str = 'src/train.py'", "src/train.py"),
        ('main_script = f"train.py"', "train.py"),
        ('main_script = "a.py"\n    main_script = "b.py"', "b.py"),
        ('prepare_script = "p.py"', "main.py"),
        ('main_script = "x" + suffix()', "main.py"),
        ("raise SystemExit", "main.py"),
        ("def run(self): pass", "main.py"),
    ],
)
def test_the_constant_is_read_and_nothing_runs(tmp_path: Path, body: str, script: str) -> None:
    (tmp_path / "benchfile.py").write_text(PACK.format(body))
    assert main_script(tmp_path) == script


def test_a_class_inherits_its_script(tmp_path: Path) -> None:
    text = PACK.format('main_script = "train.py"')
    text = text.replace("__pack__ = Bench", "class Other(Bench):\n    pass\n\n__pack__ = Other")
    (tmp_path / "benchfile.py").write_text(text)
    assert main_script(tmp_path) == "train.py"


@pytest.mark.parametrize("text", [None, "", "class", "\0", "__pack__ = Bench", "x = 1"])
def test_without_one_it_is_main_py(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "benchfile.py").write_text(text)
    assert main_script(tmp_path) == "main.py"


def test_a_definition_runs_its_script_with_its_own_folder_as_code(here: Path) -> None:
    write("x/benchfile.py", PACK.format('main_script = "src/train.py"'))
    write("x/src/train.py", "")
    made = only("b: {definition: x, plan: {method: per_gpu}, argv: ['{milabench_code}/c.yaml']}")
    assert made.program == here / "x" / "src" / "train.py"
    assert (made.module, made.folder) == ("", here / "x")
    assert made.argv == (f"{here}/x/c.yaml",)
    assert made.environ == {}


def test_a_package_is_run_as_a_module(here: Path) -> None:
    write("x/benchfile.py", PACK.format('main_script = "bench"'))
    write("x/bench/__main__.py", "")
    made = only("b: {definition: x, plan: {method: per_gpu}, env: {PYTHONPATH: /more}}")
    assert (made.program, made.module) == (here / "x" / "bench" / "__main__.py", "bench")
    assert made.environ == {"PYTHONPATH": f"{here}/x:/more"}


def test_it_resolves_where_nothing_is_there(here: Path) -> None:
    text = "b: {definition: nowhere, plan: {method: per_gpu}, argv: ['{milabench_code}/c.yaml']}"
    assert resolved(text)["b"]["argv"] == [f"{here}/nowhere/c.yaml"]
