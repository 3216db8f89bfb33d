"""A laptop that plans and reports: torch and what only runs need cannot be imported there."""

import json
import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
LISTED = REPOSITORY / "docs" / "examples" / "requirements-report.txt"
RECORDED = REPOSITORY / "tests" / "recorded"
# What imports these needs devices, jobs or the processes of a run.
OF_RUNS = {"py-spy", "submitit", "torch", "torchvision", "transformers", "voir"}
_OF_RUNS = re.compile(r"(functorch|py_spy|submitit|torch|torchgen|torchvision|transformers|voir)\b")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed packages that runs alone do not need."""
    folder = tmp_path_factory.mktemp("packages")
    places = [Path(each) for each in sys.path if each.endswith("site-packages")]
    for package in (each for place in reversed(places) for each in place.iterdir()):
        if not _OF_RUNS.match(package.name.replace("-", " ")):
            (folder / package.name).unlink(missing_ok=True)
            (folder / package.name).symlink_to(package)
    return folder


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("list ddp --device cpu", "benchmarks would run"),
        ("dry ddp --gpus 8 --nodes 2", "torch.distributed.run"),
        (f"report {RECORDED / 'first'}", "PASS"),
        (f"report {RECORDED / 'first'} --format html", "<html"),
        (f"compare {RECORDED / 'first'} {RECORDED / 'first'}", "resnet50"),
        (f"history {RECORDED}", ""),
        ("doctor --device cpu --json", '"checks"'),
    ],
)
def test_a_command_that_needs_no_torch(words: str, shown: str, packages: Path, tmp_path: Path):
    done = milabench(words, packages, tmp_path)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_the_doctor_says_what_is_missing_to_run(packages: Path, tmp_path: Path) -> None:
    told = json.loads(milabench("doctor --device cpu --json", packages, tmp_path).stdout)
    states = {each["check"]: each["state"] for each in told["checks"]}
    assert (states["torch"], states["packages"]) == ("warning", "warning")


def milabench(words: str, packages: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-S", "-m", "milabench_ddp", *words.split()],  # -S: no site-packages
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{packages}:{REPOSITORY}"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_list_of_packages_is_what_is_required_but_for_runs() -> None:
    setup = ConfigParser()
    setup.read(REPOSITORY / "setup.cfg")
    required = set(setup["options"]["install_requires"].split())
    listed = {line for line in LISTED.read_text().splitlines() if not line.startswith("#")}
    assert listed <= required
    assert {each.partition(">=")[0] for each in required - listed} <= OF_RUNS
    assert all(">=" in each for each in required)  # the lowest version that was tested
