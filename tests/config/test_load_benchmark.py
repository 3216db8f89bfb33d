from pathlib import Path

import pytest

from milabench_ddp.config.benchfile import absolute_paths, program_of
from milabench_ddp.config.schema import FakeImageNet, PlanSpec
from milabench_ddp.config.tree import MappingNode
from milabench_ddp.errors import ConfigError
from tests.support.configuration import only, table, write


def test_every_field(here: Path) -> None:
    found = only("""
        b:
          definition: prog
          plan: {method: njobs, n: 2}
          argv: {--x: 1}
          env: {A: true, B: 0.5, C: ~, D: 'x y'}
          group: g
          install_group: i
          tags: [z, a]
          max_duration: 5
          weight: 0.5
          num_machines: 1
          use_deepspeed: true
    """)
    assert found.name == "b"
    assert found.program == here / "prog" / "main.py"
    assert found.plan == PlanSpec("njobs", {"n": 2})
    assert found.argv == ("--x", "1")
    assert found.env == {"A": "true", "B": "0.5", "D": "x y"}
    assert (found.group, found.install_group) == ("g", "i")
    assert found.tags == {"a", "z"}
    assert (found.max_duration, found.weight, found.num_machines) == (5.0, 0.5, 1)
    assert (found.preset, found.voir, found.voirfile) == (None, None, None)
    assert found.record["definition"] == str(here / "prog")
    assert found.record["use_deepspeed"] is True
    assert found.record["env"] == {"A": True, "B": 0.5, "C": None, "D": "x y"}


def test_the_least_that_runs(here: Path) -> None:
    found = only("b: {program: main.py, plan: {method: per_gpu}}")
    assert found.plan == PlanSpec("per_gpu")
    assert (found.argv, found.env, found.tags, found.num_machines) == ((), {}, frozenset(), None)


@pytest.mark.parametrize("n", ["", ", n: ~"])
def test_njobs_is_one_job(here: Path, n: str) -> None:
    assert only(f"b: {{program: main.py, plan: {{method: njobs{n}}}}}").plan == PlanSpec(
        "njobs", {"n": 1}
    )


def test_voir_is_used_only_where_the_benchmark_asks(here: Path) -> None:
    plain = "program: prog/main.py, plan: {method: per_gpu}"
    assert only(f"b: {{{plain}, voir: {{options: {{stop: 60}}}}}}").voir is None
    (here / "prog" / "voirfile.py").write_text("")
    assert only(f"b: {{{plain}, instrument: voir}}").voir == {}
    found = only(f"b: {{{plain}, instrument: voir, voir: {{options: {{stop: 60}}}}}}")
    assert found.voir == {"stop": 60}


def test_the_voirfile_beside_the_program(here: Path) -> None:
    (here / "prog" / "voirfile.py").write_text("")
    text = "b: {program: prog/main.py, plan: {method: per_gpu}, instrument: voir}"
    assert only(text).voirfile == here / "prog" / "voirfile.py"
    assert only(text.replace(", instrument: voir", "")).voirfile is None


@pytest.mark.parametrize(
    ("asked", "data"),
    [
        ("images: 50", FakeImageNet(50, 50, 50, 256, 0, "FakeImageNet")),
        ("images: 100000", FakeImageNet(100000, 4000, 1000, 256, 0, "FakeImageNet")),
        (
            "images: 50, classes: 2, val_images: 4, size: 64, seed: 3, folder: F",
            FakeImageNet(50, 4, 2, 64, 3, "F"),
        ),
    ],
)
def test_the_data_that_it_reads(here: Path, asked: str, data: FakeImageNet) -> None:
    text = "b: {program: main.py, plan: {method: per_gpu}"
    Path("main.py").touch()
    assert only(f"{text}}}").data is None
    assert only(f"{text}, prepare: {{fake_imagenet: {{{asked}}}}}}}").data == data


@pytest.mark.parametrize("asked", ["images: 2, classes: 3", "images: 4, classes: 4, val_images: 3"])
def test_every_class_has_an_image(here: Path, asked: str) -> None:
    Path("main.py").touch()
    text = "b: {program: main.py, plan: {method: per_gpu}, prepare: {fake_imagenet: {%s}}}"
    with pytest.raises(ConfigError, match=r"images cannot fill . classes, which need one each"):
        only(text % asked)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "b:\n  definition: pack\n  instrument: voir\n  plan: {method: per_gpu}",
            "`instrument` in x.yaml:3: voir runs no package",
        ),
        (
            "b:\n  program: main.py",
            "`b` in x.yaml:1 has no plan: add `plan: {method: per_gpu}` or `plan: {method: njobs}`",
        ),
    ],
)
def test_what_cannot_run(here: Path, text: str, message: str) -> None:
    write("pack/benchfile.py", "class P: main_script = 'bench'\n__pack__ = P")
    write("pack/bench/__main__.py", "")
    with pytest.raises(ConfigError) as error:
        only(text)
    assert str(error.value) == message


def absolute(text: str, source: str = "/etc/suite/x.yaml") -> MappingNode:
    return absolute_paths(table(text, source))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("definition: ../benchmarks/flops", "/etc/benchmarks/flops/main.py"),
        ("program: train.py", "/etc/suite/train.py"),
        ("program: /opt/train.py", "/opt/train.py"),
        ("program: ~/train.py", "/home/me/train.py"),
        ("{definition: a, program: b.py}", "/etc/suite/b.py"),
    ],
)
def test_paths_start_from_the_file_that_states_them(
    text: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert program_of(absolute(text)) == Path(path)


def test_nothing_states_a_program() -> None:
    assert program_of(absolute("{}")) is None


def test_a_parent_in_another_folder_and_an_override_from_here(here: Path) -> None:
    write("suites/base.yaml", "_t: {program: ../prog/main.py, plan: {method: per_gpu}}")
    text = "include: suites/base.yaml\nb: {inherits: _t}"
    assert only(text).program == here / "prog" / "main.py"
    assert only(text, overrides=("b.program=main.py",)).program == here / "main.py"
