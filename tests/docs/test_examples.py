"""The files of ``docs/examples`` that others run: their commands are those of today's program."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from milabench_ddp.cli import parse
from milabench_ddp.options.reading import CompareOptions
from milabench_ddp.options.suite import DoctorOptions, RunOptions

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
# What follows the name of the image, or the command itself.
_COMMAND = re.compile(
    r"^[#\s]*(?:.* )?milabench(?:\.sif)? ((?:doctor|run|compare|report)\b.*)$", re.M
)


def commands(text: str) -> list[tuple[str, object]]:
    """The commands of milabench in a file, parsed; one that is wrong ends the test."""
    found = []
    for words in _COMMAND.findall(text.replace("\\\n", "")):
        found.append(parse(shlex.split(words.partition(" >> ")[0])))
    return found


def test_the_workflow_measures_in_turn_and_fails_at_what_is_slower() -> None:
    workflow = yaml.safe_load((EXAMPLES / "regression.yml").read_text())
    steps = workflow["jobs"]["compare"]["steps"]
    (doctor, run, shown, compared) = commands("\n".join(step.get("run", "") for step in steps))
    assert doctor == ("doctor", DoctorOptions())
    assert isinstance(run[1], RunOptions)
    assert (run[1].config, run[1].after, run[1].repeat) == (
        "base/bench.yaml",
        "change/bench.yaml",
        5,
    )
    assert {step["with"]["path"] for step in steps if "checkout" in step.get("uses", "")} == {
        "base",
        "change",
    }
    for _, options in (shown, compared):
        assert isinstance(options, CompareOptions)
        assert (options.before, options.after) == ("pull.before", "pull.after")
        assert f"{run[1].name}.before" == options.before
    assert (compared[1].fail_on, compared[1].threshold) == ("slower", 0.03)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["Dockerfile", "milabench.def"])
def test_the_commands_of_an_image(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert [verb for verb, _ in commands(text)] == ["doctor", "run"]
    assert f"docs/examples/{name}" in text  # the command that builds it


def test_both_images_have_the_same_packages() -> None:
    docker, apptainer = ((EXAMPLES / name).read_text() for name in ("Dockerfile", "milabench.def"))
    for pattern in (
        r"install -y (.+?)(?: \\)?\n",
        r"pip install (\S+ -c \S+ \S+)",
        r"(?i)from:? (\S+)\n",
    ):
        assert re.search(pattern, docker)[1] == re.search(pattern, apptainer)[1], pattern  # type: ignore[index]
    assert "COPY . /src" in docker
    assert ". /src" in apptainer
