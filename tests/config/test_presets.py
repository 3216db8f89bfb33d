from pathlib import Path

import pytest

from milabench_ddp.errors import ConfigError, MilabenchError, SelectionError
from tests.support.configuration import facts, only, suite

TEXT = """
    _t:
      program: main.py
      plan: {method: per_gpu}
      argv: {--size: 8, --amp: true}
      env: {A: a}
      max_duration: 100
      presets:
        small: {argv: {--size: 1, --amp: !delete }, env: {B: b}, max_duration: 10}
        huge: {num_machines: 4, argv: {--size: 99}}
    a: {inherits: _t}
"""


def test_auto_is_full_on_gpus_and_small_without() -> None:
    assert suite(TEXT).preset == "full"
    assert suite(TEXT, on=facts(arch="cpu")).preset == "small"


pytestmark = pytest.mark.usefixtures("here")


def test_a_preset_overrides_options_and_limits() -> None:
    small = only(TEXT, preset="small")
    assert (small.argv, small.env, small.max_duration) == (
        ("--size", "1"),
        {"A": "a", "B": "b"},
        10.0,
    )
    assert small.preset == "small"


def test_a_benchmark_without_the_preset_runs_as_it_is() -> None:
    full = only(TEXT, preset="full")
    assert full.argv == ("--size", "8", "--amp")
    assert full.preset is None


def test_the_star_comes_before_the_preset() -> None:
    assert only(TEXT + "    '*': {max_duration: 50}", preset="small").max_duration == 10


def test_presets_are_inherited_key_by_key() -> None:
    text = TEXT + "    b: {inherits: a, presets: {small: {max_duration: 3}}}"
    _, b = suite(text, preset="small").benchmarks
    assert (b.max_duration, b.argv) == (3.0, ("--size", "1"))


def test_a_preset_of_ones_own() -> None:
    assert only(TEXT, preset="huge", on=facts(node_count=4)).num_machines == 4


def test_a_child_removes_a_preset() -> None:
    text = TEXT + "    b: {inherits: a, presets: {small: !delete }}"
    _, b = suite(text, preset="small").benchmarks
    assert b.preset is None


@pytest.mark.parametrize(
    ("preset", "hint"),
    [("smal", ": did you mean `small`?"), ("x", "; choose from: auto, full, huge, small")],
)
def test_an_unknown_preset(preset: str, hint: str) -> None:
    with pytest.raises(SelectionError) as error:
        suite(TEXT, preset=preset)
    assert str(error.value) == (f"--preset {preset}: no benchmark has a preset of that name{hint}")


@pytest.mark.parametrize(
    ("presets", "message"),
    [
        ("{small: {plan: {}}}", "unknown key `plan` in x.yaml:1"),
        ("{small: {arg: {}}}", "unknown key `arg` in x.yaml:1: did you mean `argv`?"),
        (
            "{small: 3}",
            "wrong value for `presets.small` in x.yaml:1: expected a mapping, got `3`",
        ),
        (
            "[small]",
            "wrong value for `presets` in x.yaml:1: expected a mapping of presets, got a list",
        ),
    ],
)
def test_bad_presets(here: Path, presets: str, message: str) -> None:
    with pytest.raises(MilabenchError) as error:
        suite(f"a: {{presets: {presets}}}")
    assert isinstance(error.value, ConfigError)
    assert str(error.value) == message
