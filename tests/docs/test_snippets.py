"""The snippets of all pages work: each page in an empty folder, from its top to its bottom.

A block of bash is run, one of YAML resolves, one of Python runs; a block with a caption is first
written to the file that it names. Below ``:class: parsed`` the commands are only parsed, since they
need GPUs, Slurm or minutes (what ``new`` writes is run by ``tests/commands/test_new.py``); below
``:class: recorded`` there is the recorded run ``runs/first``.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from milabench_ddp.cli import parse
from milabench_ddp.config.runner_profile import read_profile
from milabench_ddp.errors import ConfigError
from tests.fuzz.command import milabench
from tests.support.result_files import RECORDED

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.rst", ROOT / "CONTRIBUTING.rst", *(ROOT / "docs").rglob("*.rst")])
_BLOCK = re.compile(
    r"^( *)\.\. code-block:: (bash|yaml|python)\n((?:\1   +:.*\n)*)\n((?:\1   .*\n|\n)+)", re.M
)
_OPTION = re.compile(r":(\w+): (.*)")
_COMMAND = re.compile(r"milabench (?!_)[^|&;>`]*")


# A busy machine may make a rate no measurement, which is an error of the report: not of the page.
_SHIM = """\
#!/bin/sh
case $1 in run | report) set -- "$@" --fail-on none ;; esac
exec {python} -m milabench_ddp "$@"
"""


@dataclass(frozen=True)
class Snippet:
    """A block of code of a page."""

    language: str
    text: str
    file: str = ""  # that it is written to
    kind: str = "run"  # or ``parsed``, or ``recorded``


def snippets(page: str) -> Iterator[Snippet]:
    for _, language, options, text in _BLOCK.findall(page):
        told = dict(_OPTION.findall(options))
        kind = told.get("class", "run")
        yield Snippet(language, textwrap.dedent(text), told.get("caption", ""), kind)


def commands(text: str) -> list[list[str]]:
    """The commands of milabench in a script, as words."""
    joined = text.replace("\\\n", " ")
    found = [_COMMAND.search(line.split("  #")[0]) for line in joined.splitlines()]
    return [shlex.split(match[0])[1:] for match in found if match]


def trains(page: Path) -> bool:
    """Whether a page runs a benchmark, which takes seconds."""
    found = [each for each in snippets(page.read_text()) if each.language == "bash"]
    return any("milabench run" in each.text for each in found if each.kind != "parsed")


def told(found: list[Path]) -> list[object]:
    return [
        pytest.param(page, marks=[pytest.mark.slow] if trains(page) else [], id=page.stem)
        for page in found
        if list(snippets(page.read_text()))
    ]


@pytest.mark.parametrize("page", told(PAGES))
def test_the_snippets_of_a_page(page: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for each in snippets(page.read_text()):
        if each.kind == "recorded":
            shutil.copytree(RECORDED / "first", "runs/first", dirs_exist_ok=True)
        if each.file:
            Path(each.file).write_text(each.text)
        if each.language == "yaml":
            resolves(each)
        elif each.kind == "parsed":
            for words in commands(each.text):
                parse(words)
        elif not each.file:
            runs(each, tmp_path)


def resolves(snippet: Snippet) -> None:
    """A suite is listed, a profile or a system file is read."""
    path = Path(snippet.file or "snippet.yaml")
    path.write_text(snippet.text)
    keys = yaml.safe_load(snippet.text)
    if "kind" in keys:
        read_profile(path.resolve())
        return
    suite = "ddp" if "system" in keys else str(path)
    system = ["--system", str(path)] if "system" in keys else []
    said = milabench("resolve", suite, "--device", "cpu", "--gpus", "1", *system)
    assert said.code == 0, said.err


def runs(snippet: Snippet, folder: Path) -> None:
    interpreter = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    commands = folder.with_name(f"{folder.name}-bin")
    commands.mkdir(exist_ok=True)
    (commands / "milabench").write_text(_SHIM.format(python=sys.executable))
    (commands / "milabench").chmod(0o755)
    path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [*interpreter[snippet.language], snippet.text],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{snippet.text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_a_wrong_snippet_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ".. code-block:: bash\n   :class: parsed\n\n   milabench run ddp --gpu 3  # no\n\nText\n"
    (found,) = snippets(page)
    assert (found.kind, commands(found.text)) == ("parsed", [["run", "ddp", "--gpu", "3"]])
    with pytest.raises(AssertionError):
        resolves(Snippet("yaml", "mine: {programm: x.py}\n"))
    with pytest.raises(AssertionError):
        runs(Snippet("bash", "milabench report nowhere\n"), tmp_path)
    with pytest.raises(ConfigError):
        resolves(Snippet("yaml", "kind: slurm\npartitions: x\n"))
