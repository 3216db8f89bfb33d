from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.override import locate
from milabench_ddp.errors import ConfigError, MilabenchError, SelectionError
from tests.support.configuration import resolved

TEXT = """
    _t: {argv: {--lr: 1, --amp: true}, url: [a], presets: {small: {max_duration: 5}}}
    resnet152-ddp: {inherits: _t}
    resnet50: {inherits: _t}
    llm-1.5b: {}
    listed: {argv: [a, b]}
    sweep: {matrix: {n: [1, 2]}, job: {name: 's{n}', inherits: _t}}
"""


def after(*overrides: str) -> dict[str, Any]:
    return resolved(TEXT, overrides=overrides, preset="small")


def test_names_with_dashes_and_dots_are_addressed(here: Path) -> None:
    found = after("resnet152-ddp.argv.--batch-size=3", "llm-1.5b.weight=2")
    assert found["resnet152-ddp"]["argv"]["--batch-size"] == 3
    assert found["llm-1.5b"]["weight"] == 2


def test_a_key_of_argv_may_hold_dots_and_a_value_any_yaml(here: Path) -> None:
    found = after("resnet50.argv.train.lr=[1, b]", "resnet50.env.A=a=b")
    assert found["resnet50"]["argv"]["train.lr"] == [1, "b"]
    assert found["resnet50"]["env"] == {"A": "a=b"}


def test_a_pattern_addresses_many(here: Path) -> None:
    found = after("resnet*.weight=7", "*.max_duration=60")
    assert {name: b["weight"] for name, b in found.items() if b["weight"]} == {
        "resnet152-ddp": 7,
        "resnet50": 7,
    }
    assert {b["max_duration"] for b in found.values()} == {60}


def test_it_wins_over_the_preset_and_the_later_one_over_the_earlier(here: Path) -> None:
    assert after()["resnet50"]["max_duration"] == 5
    found = after("resnet50.max_duration=7", "resnet50.max_duration=8")
    assert found["resnet50"]["max_duration"] == 8


def test_options_are_dropped_removed_and_appended_to(here: Path) -> None:
    found = after(
        "resnet50.argv.--lr=", "resnet50.argv.--amp=!delete", "resnet50.url={append: [b]}"
    )
    assert found["resnet50"]["argv"] == {"--lr": None}
    assert found["resnet50"]["url"] == ["a", "b"]


def test_a_placeholder_needs_no_quotes(here: Path) -> None:
    assert after("resnet50.argv.--n={gpu_count}")["resnet50"]["argv"]["--n"] == 2


def test_templates_presets_parents_and_sweeps_change_what_follows(here: Path) -> None:
    found = after(
        "_t.argv.--lr=9",
        "resnet50.presets.small.max_duration=6",
        "sweep.matrix.n=[3]",
        "sweep.job.argv.x.y=1",
        "listed.inherits=_t",
        "listed.argv=[]",
    )
    assert found["resnet152-ddp"]["argv"]["--lr"] == 9
    assert found["resnet50"]["max_duration"] == 6
    assert found["s3"]["argv"] == {"--lr": 9, "--amp": True, "x.y": 1}
    assert found["listed"]["url"] == ["a"]


def test_a_pattern_reaches_the_presets_of_a_sweep_too(here: Path) -> None:
    found = after("*.presets.small.max_duration=4")
    assert {b["max_duration"] for b in found.values()} == {4}


@pytest.mark.parametrize(
    ("address", "names", "keys"),
    [
        ("a.weight", ["a"], ["weight"]),
        ("a.b.weight", ["a.b"], ["weight"]),
        ("a*.weight", ["a", "a.b", "ab"], ["weight"]),
        ("*.plan.n", ["a", "a.b", "ab"], ["plan", "n"]),
        ("_t.weight", ["_t"], ["weight"]),
        ("a.argv.x.y", ["a"], ["argv", "x.y"]),
        ("q.weight", [], []),
    ],
)
def test_an_address_is_a_name_and_keys(address: str, names: list[str], keys: list[str]) -> None:
    assert locate(address, ["a", "a.b", "ab", "_t"]) == (names, keys)


@pytest.mark.parametrize(
    ("override", "kind", "message"),
    [
        (
            "resnet50",
            ConfigError,
            "not of the form name.key=value, such as `resnet50.argv.--batch-size=64`",
        ),
        (
            "resnet50=1",
            ConfigError,
            "not of the form name.key=value, such as `resnet50.argv.--batch-size=64`",
        ),
        (
            "resnet5.weight=1",
            SelectionError,
            "no benchmark `resnet5`: did you mean `resnet50`?",
        ),
        ("x*.weight=1", SelectionError, "no benchmark `x*`"),
        (
            "resnet50.weight=[",
            ConfigError,
            "invalid YAML: did not find expected node content",
        ),
        (
            "sweep.weight=1",
            SelectionError,
            "`sweep` is a matrix, or made by one: address its benchmarks, or its `job`",
        ),
        (
            "s1.presets.small.max_duration=3",
            SelectionError,
            "`s1` is a matrix, or made by one: address its benchmarks, or its `job`",
        ),
        (
            "listed.argv.--x=1",
            ConfigError,
            "`argv` is a list (x.yaml:6); replace it whole",
        ),
    ],
)
def test_bad_overrides(here: Path, override: str, kind: type[MilabenchError], message: str) -> None:
    with pytest.raises(kind) as error:
        after(override)
    assert str(error.value) == f"--override {override}: {message}"


def test_a_bad_value_names_the_override(here: Path) -> None:
    with pytest.raises(ConfigError) as error:
        after("resnet50.max_durtion=1")
    assert str(error.value) == (
        "unknown key `max_durtion` in --override resnet50.max_durtion=1: "
        "did you mean `max_duration`?"
    )
