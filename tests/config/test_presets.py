from pathlib import Path

import pytest

from milabench_ddp.errors import ConfigError, MilabenchError, SelectionError
from tests.support.configuration import facts, only, suite, write

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


def test_the_star_is_newer_than_the_preset_of_a_benchmark() -> None:
    assert only(TEXT + "    '*': {max_duration: 50}", preset="small").max_duration == 50


@pytest.mark.parametrize(
    "own", ["max_duration: 50, argv: {--size: 64}", "argv: {--size: 64}, max_duration: 50"]
)
def test_own_keys_win_over_inherited_presets(own: str) -> None:
    _, b = suite(TEXT + f"    b: {{inherits: a, {own}}}", preset="small").benchmarks
    assert (b.max_duration, b.argv, b.env) == (50, ("--size", "64"), {"A": "a", "B": "b"})
    assert b.preset == "small"


def test_own_presets_win_over_own_keys() -> None:
    text = TEXT + "    b: {inherits: a, max_duration: 50, presets: {small: {max_duration: 5}}}"
    _, b = suite(text, preset="small").benchmarks
    assert b.max_duration == 5


def test_a_benchmark_enabled_by_itself_runs_where_its_parents_preset_disables_it() -> None:
    text = (
        TEXT
        + """
    without: {inherits: a, presets: {small: {enabled: false}}}
    again: {inherits: without, enabled: true}
    """
    )
    found = suite(text, preset="small")
    assert [each.name for each in found.benchmarks] == ["a", "again"]
    assert [each.name for each in found.skipped] == ["without"]


def test_a_file_wins_over_the_presets_of_what_it_includes() -> None:
    write("base.yaml", TEXT)
    a = only("include: base.yaml\n_t: {max_duration: 50}", preset="small")
    assert (a.max_duration, a.argv) == (50, ("--size", "1"))


def test_an_override_of_a_template_wins_over_its_preset() -> None:
    assert only(TEXT, preset="small", overrides=("_t.max_duration=50",)).max_duration == 50


def test_an_override_of_a_sweeps_job_wins_over_its_preset() -> None:
    text = (
        TEXT
        + """
    s:
      matrix: {size: [1, 2]}
      job: {name: "s{size}", inherits: a, presets: {small: {max_duration: 7}}}
    """
    )
    *_, sweep = suite(text, preset="small").benchmarks
    assert sweep.max_duration == 7
    *_, sweep = suite(text, preset="small", overrides=("s.job.max_duration=50",)).benchmarks
    assert sweep.max_duration == 50


@pytest.mark.parametrize(
    "text",
    [
        "a: {max_duration: VALUE, presets: {small: {max_duration: 1}}}",
        "a: {presets: {full: {max_duration: VALUE}}}",
        "_t: {max_duration: VALUE}\na: {inherits: _t, max_duration: 1}",
        "_t: {job: {name: x, max_duration: VALUE}, matrix: {}}",
        "_t: {job: {name: x, presets: {other: {max_duration: VALUE}}}, matrix: {}}",
    ],
)
@pytest.mark.parametrize("value", ["5m", "-3", "true", "[1]", ".inf"])
def test_each_value_is_checked_as_it_is_written(text: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"wrong value for `max_duration` in x.yaml:"):
        suite(text.replace("VALUE", value), preset="small")


def test_of_a_value_in_parts_each_part_is_checked() -> None:
    text = TEXT + "    _two: {plan: {n: 2}}\n    b: {inherits: [_two, a], plan: {method: njobs}}"
    _, b = suite(text).benchmarks
    assert b.plan.options == {"n": 2}
    with pytest.raises(ConfigError, match=r"wrong value for `plan.n` in x.yaml:"):
        suite(text.replace("n: 2", "n: 0").replace("method: njobs", "method: njobs, n: 1"))


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
