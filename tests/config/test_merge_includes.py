"""Configurations that include others."""

from pathlib import Path

import pytest

from milabench_ddp.config.merge import (
    read_suite,
)
from milabench_ddp.config.tree import (
    finalize,
    to_plain,
)
from milabench_ddp.errors import ConfigError
from tests.support.configuration import write


def read_yaml(path: str) -> object:
    return to_plain(finalize(read_suite(Path(path))))


def test_includes_come_first_depth_first_and_relative_to_their_file(here: Path) -> None:
    write("sub/deep/a.yaml", "b: {weight: 1, env: {A: a}}")
    write("sub/b.yaml", "include: deep/a.yaml\nb: {weight: 2, env: {B: b}}")
    write("c.yaml", "b: {env: {C: c}}")
    write("x.yaml", "include: [sub/b.yaml, c.yaml]\nb: {max_duration: 3}")
    assert read_yaml("x.yaml") == {
        "b": {"weight": 2, "env": {"A": "a", "B": "b", "C": "c"}, "max_duration": 3}
    }


def test_the_home_folder_is_expanded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here / "home"))
    write("home/a.yaml", "b: {weight: 1}")
    write("x.yaml", "include: ~/a.yaml")
    assert read_yaml("x.yaml") == {"b": {"weight": 1}}


def test_a_file_that_two_files_include_is_no_loop(here: Path) -> None:
    write("base.yaml", "b: {weight: 1}")
    write("one.yaml", "include: base.yaml")
    write("two.yaml", "include: base.yaml\nb: {weight: 2}")
    write("x.yaml", "include: [one.yaml, two.yaml]")
    assert read_yaml("x.yaml") == {"b": {"weight": 2}}


def test_a_shipped_configuration_is_included_by_name(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("package/shipped/config/_defaults.yaml", "_defaults: {weight: 1}")
    monkeypatch.setattr("milabench_ddp.config.shipped._PACKAGE", here / "package")
    write("x.yaml", "include: _defaults.yaml")
    assert read_yaml("x.yaml") == {"_defaults": {"weight": 1}}


def test_a_benchmark_of_nothing_is_a_benchmark(here: Path) -> None:
    write("x.yaml", "b:\n")
    assert read_yaml("x.yaml") == {"b": {}}


def test_a_later_file_removes_a_benchmark(here: Path) -> None:
    write("base.yaml", "a: {}\nb: {}")
    write("x.yaml", "include: base.yaml\na: !delete")
    assert read_yaml("x.yaml") == {"b": {}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "include: no.yaml",
            "unknown include `no.yaml` in sub/x.yaml:1: no such file: sub/no.yaml",
        ),
        ("include: x.yaml", "include loop: sub/x.yaml -> sub/x.yaml"),
        ("include: ../y.yaml", "include loop: sub/x.yaml -> y.yaml -> sub/x.yaml"),
        (
            "include: [1]",
            "wrong value for `include` in sub/x.yaml:1: "
            "expected a path or a list of paths, got `1`",
        ),
        (
            "include: {a: b}",
            "wrong value for `include` in sub/x.yaml:1: "
            "expected a path or a list of paths, got a mapping",
        ),
        (
            "b: 3",
            "wrong value for `b` in sub/x.yaml:1: "
            "expected the keys of a benchmark, below its name, got `3`",
        ),
    ],
)
def test_bad_includes(here: Path, text: str, message: str) -> None:
    write("sub/x.yaml", text)
    write("y.yaml", "include: sub/x.yaml")
    with pytest.raises(ConfigError) as error:
        read_suite(Path("sub/x.yaml"))
    assert str(error.value) == message
