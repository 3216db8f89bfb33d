"""Benchmarks that inherit from others, and the entry `*`."""

import pytest

from milabench_ddp.config.merge import (
    inherit,
)
from milabench_ddp.config.tree import (
    finalize,
    to_plain,
)
from milabench_ddp.errors import ConfigError
from tests.support.configuration import entries


def inherited(text: str) -> dict[str, object]:
    return {name: to_plain(finalize(entry)) for name, entry in inherit(entries(text)).items()}


def test_the_child_wins_and_the_order_of_the_parent_comes_first() -> None:
    found = inherited("""
        child: {inherits: _parent, weight: 2, env: {B: b}}
        _parent: {env: {A: a, B: a}, weight: 1}
    """)
    assert found["child"] == {"env": {"A": "a", "B": "b"}, "weight": 2}
    assert list(found["child"]) == ["env", "weight"]  # type: ignore[call-overload]


def test_parents_are_merged_left_to_right() -> None:
    found = inherited("""
        _a: {weight: 1, group: a}
        _b: {weight: 2, tags: [b]}
        c: {inherits: [_a, _b], tags: [c]}
    """)
    assert found["c"] == {"weight": 2, "group": "a", "tags": ["b", "c"]}


def test_options_are_removed_and_lists_extended_through_parents() -> None:
    found = inherited("""
        _a: {argv: {--x: 1, --y: 2}, url: [1]}
        b: {inherits: _a, argv: {--x: !delete , --y: ~}, url: {append: [2]}}
    """)
    assert found["b"] == {"argv": {"--y": None}, "url": [1, 2]}


def test_the_star_is_merged_into_all_but_templates_once() -> None:
    found = inherited("""
        "*": {url: {append: [s]}, weight: 9}
        _a: {url: [a], weight: 1}
        b: {inherits: _a, url: {append: [b]}}
        c: {inherits: b}
    """)
    assert found == {
        "_a": {"url": ["a"], "weight": 1},
        "b": {"url": ["a", "b", "s"], "weight": 9},
        "c": {"url": ["a", "b", "s"], "weight": 9},
    }


def test_no_parent_may_be_written_as_null() -> None:
    assert inherited("a: {inherits: ~, weight: 1}") == {"a": {"weight": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a:\n  inherits: _parnt\n_parent: {}",
            "unknown parent `_parnt` of `a` in x.yaml:2: did you mean `_parent`?",
        ),
        ("a: {inherits: '*'}\n'*': {}", "unknown parent `*` of `a` in x.yaml:1"),
        ("a: {inherits: a}", "inherit cycle: a -> a (x.yaml:1)"),
        (
            "z: {inherits: a}\na: {inherits: b}\nb: {inherits: [c]}\nc: {inherits: a}",
            "inherit cycle: a -> b -> c -> a (x.yaml:2)",
        ),
        (
            "a: {inherits: 3}",
            "wrong value for `inherits` in x.yaml:1: expected a name or a list of names, got `3`",
        ),
        ("'*':\n  inherits: a\na: {}", '`"*"` cannot inherit: x.yaml:2'),
    ],
)
def test_bad_parents(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        inherited(text)
    assert str(error.value) == message
