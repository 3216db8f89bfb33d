"""Runs in a container; its runtime is a script that tells that it was there."""

import json
import subprocess

import pytest

from tests.support.workplace import GOOD, Workplace

RUNTIME = """\
#!/bin/sh
while [ "$1" != -- ]; do image=$1; shift; done
shift
export INSIDE="$image" PYTHONNOUSERSITE=1
exec "$@"
"""
PROFILE = """\
kind: local
environment: {{LOADEDMODULES: 'cuda/12.9:gcc/12'}}
python: {python}
container: {{kind: charliecloud, image: torch}}
"""
INSIDE = GOOD + "\nprint('inside', os.environ['INSIDE'], os.getcwd())\n"
ON_CPU = ("--runner", "in.yaml", "--nodes", "1", "--device", "cpu", "--gpus", "1")


@pytest.fixture
def config(at: Workplace, suite, monkeypatch: pytest.MonkeyPatch) -> str:
    at.write("bin/ch-run", RUNTIME).chmod(0o755)
    at.write("torch/usr/lib/torch.so", "1")
    monkeypatch.setenv("PATH", str(at.folder / "bin"), prepend=":")
    write_profile(at)
    return suite(good=INSIDE)


def write_profile(at: Workplace, python: str = "python3") -> None:
    at.write("in.yaml", PROFILE.format(python=python))


def test_a_run_and_what_repeats_it_are_inside(at: Workplace, config: str) -> None:
    said = f"inside {at.folder}/torch {at.folder}\n"
    done = at.milabench("run", config, *ON_CPU, "--name", "mine")
    assert done.code == 0, done.err
    assert (at.run() / "good.D0.stdout").read_text() == said
    image = json.loads((at.run() / "run.json").read_text())["machine"]["container"]
    shown = f"image torch {image['digest'][:19]}, modules cuda/12.9 gcc/12"
    assert shown in done.out
    assert image == {
        "kind": "charliecloud",
        "image": f"{at.folder}/torch",
        "digest": image["digest"],
    }
    script = at.milabench("dry", config, *ON_CPU).out
    (command,) = at.run().glob("good/command.sh")
    for text in (script, command.read_text()):
        again = subprocess.run(
            ["bash"], input=text, cwd=at.folder, capture_output=True, text=True, check=True
        )
        assert said in again.stdout


def test_an_image_that_is_not_there_is_refused_before_anything_is_made(
    at: Workplace, config: str
) -> None:
    (at.folder / "torch").rename(at.folder / "other")
    done = at.milabench("run", config, *ON_CPU)
    assert done.code == 2
    assert f"no image {at.folder}/torch: No such file or directory: make it, or na" in done.err
    assert not list(at.folder.glob("base/runs/*"))
    assert at.milabench("dry", config, *ON_CPU).code == 0  # its nodes may be elsewhere


def test_what_is_missing_is_not_measured_in_another_image(at: Workplace, config: str) -> None:
    write_profile(at, "python9")
    done = at.milabench("run", config, *ON_CPU, "--name", "mine")
    said = f"there is no python9 in {at.folder}/torch: name another as python of the runner profile"
    assert (done.code, said in done.err) == (1, True), done.err
    (told,) = json.loads(at.milabench("report", "mine", "--format", "json").out)["runs"]
    assert told["facts"]["image"].startswith("torch sha256:")
    assert not {"torch", "Python", "triton"} & set(told["facts"])  # of this host
    at.write("torch/usr/lib/torch.so", "22")
    before = (at.run() / "run.json").read_text()
    done = at.milabench("run", "--resume", "mine")
    assert done.code == 2
    assert "torch has changed since the run began" in done.err
    assert (at.run() / "run.json").read_text() == before
