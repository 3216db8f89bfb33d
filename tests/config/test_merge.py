"""The laws of merging; `!delete`, `append` and tags among them."""

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.config.merge import (
    Level,
    merge,
    merge_benchmark,
    merge_mappings,
)
from milabench_ddp.config.presets import apply_preset
from milabench_ddp.config.tree import (
    DEFAULT,
    DeleteNode,
    ListNode,
    MappingNode,
    ScalarNode,
    TreeNode,
    finalize,
    from_plain,
    to_plain,
)
from milabench_ddp.errors import ConfigError
from tests.support.configuration import table

KEYS = st.sampled_from(["a", "b", "argv", "tags"])
SCALARS = st.builds(ScalarNode, st.sampled_from([None, 1, 2, "x"]), st.just(DEFAULT))
LISTS = st.lists(SCALARS, max_size=2).map(lambda items: ListNode(tuple(items), DEFAULT))


def merge_suites(old: MappingNode, new: MappingNode) -> MappingNode:
    return merge_mappings(old, new, Level.SUITE)


def tables(values: st.SearchStrategy[Any]) -> st.SearchStrategy[MappingNode]:
    return st.dictionaries(KEYS, values, max_size=3).map(
        lambda entries: MappingNode(entries, DEFAULT)
    )


VALUES: st.SearchStrategy[TreeNode] = st.recursive(
    SCALARS | LISTS | st.just(DeleteNode(DEFAULT)), tables, max_leaves=6
)
TABLES = tables(VALUES)
APPENDS = st.lists(SCALARS, max_size=2).map(
    lambda items: ListNode(tuple(items), DEFAULT, appends=True)
)
LIST_LIKE = LISTS | APPENDS | st.just(DeleteNode(DEFAULT))


@given(TABLES)
def test_nothing_is_the_identity_on_both_sides(value: MappingNode) -> None:
    empty = MappingNode({}, DEFAULT)
    assert merge(None, value) == value
    assert merge(empty, value) == value
    assert merge(value, empty) == value


@given(VALUES, VALUES, VALUES)
def test_merging_is_associative(a: TreeNode, b: TreeNode, c: TreeNode) -> None:
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


@given(LIST_LIKE, LIST_LIKE, LIST_LIKE)
def test_appending_is_associative(a: TreeNode, b: TreeNode, c: TreeNode) -> None:
    left, right = merge(merge(a, b), c), merge(a, merge(b, c))
    wrap = (finalize(MappingNode({"list": side}, DEFAULT)) for side in (left, right))
    assert to_plain(next(wrap)) == to_plain(next(wrap))


@given(TABLES, TABLES, TABLES)
def test_benchmarks_too_and_their_tags(a: MappingNode, b: MappingNode, c: MappingNode) -> None:
    left = merge_benchmark(merge_benchmark(a, b), c)
    right = merge_benchmark(a, merge_benchmark(b, c))
    assert isinstance(left, MappingNode)
    assert isinstance(right, MappingNode)
    assert to_plain(finalize(left)) == to_plain(finalize(right))


@given(TABLES, TABLES)
def test_the_newer_value_wins_and_the_older_order_comes_first(
    old: MappingNode, new: MappingNode
) -> None:
    merged = merge(old, new)
    assert isinstance(merged, MappingNode)
    assert list(merged.entries)[: len(old.entries)] == list(old.entries)
    for key, value in new.entries.items():
        if not isinstance(value, MappingNode):
            assert merged.entries[key] == value


@given(VALUES)
def test_merging_twice_is_merging_once(value: TreeNode) -> None:
    assert merge(value, value) == merge(value, merge(value, value))


def merged_layers(*layers: str) -> Any:
    suite = MappingNode({}, DEFAULT)
    for layer in layers:
        suite = merge_suites(suite, table(layer))
    return to_plain(finalize(suite))["b"]


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("{argv: {x: 1, y: 2}}", "{argv: {y: 3, z: 4}}", {"argv": {"x": 1, "y": 3, "z": 4}}),
        ("{argv: [1]}", "{argv: [2]}", {"argv": [2]}),
        ("{argv: [1]}", "{argv: {append: [2]}}", {"argv": [1, 2]}),
        ("{}", "{argv: {append: [2]}}", {"argv": [2]}),
        ("{argv: ~}", "{argv: {append: [2]}}", {"argv": [2]}),
        ("{argv: {x: 1}}", "{argv: ~}", {"argv": None}),
        ("{argv: {x: 1}}", "{argv: [1]}", {"argv": [1]}),
        ("{argv: {x: 1}}", "{argv: text}", {"argv": "text"}),
        ("{argv: {x: 1, y: 2}}", "{argv: {x: !delete }}", {"argv": {"y": 2}}),
        ("{argv: {x: 1}}", "{argv: !delete }", {}),
        ("{}", "{argv: {x: !delete }}", {"argv": {}}),
        ("{tags: [b, a]}", "{tags: [c]}", {"tags": ["b", "a", "c"]}),
        ("{tags: [a]}", "{tags: {append: [c]}}", {"tags": ["a", "c"]}),
        ("{tags: [a]}", "{tags: !delete }", {}),
        ("{env: {tags: [a]}}", "{env: {tags: [b]}}", {"env": {"tags": ["b"]}}),
    ],
)
def test_two_layers(old: str, new: str, merged: object) -> None:
    assert merged_layers(f"b: {old}", f"b: {new}") == merged


def test_what_was_removed_between_does_not_come_back() -> None:
    assert merged_layers("b: {argv: {x: 1}}", "b: {argv: !delete }", "b: {argv: {y: 2}}") == {
        "argv": {"y": 2}
    }
    assert merged_layers("b: {tags: [x]}", "b: {tags: !delete }", "b: {tags: [y]}") == {
        "tags": ["y"]
    }


def test_what_was_removed_in_a_child_is_not_inherited_whatever_came_after() -> None:
    child = merge_suites(table("b: {tags: !delete , argv: !delete }"), table("b: {tags: [y]}"))
    merged = merge_suites(table("b: {tags: [x], argv: {z: 1}}"), child)
    assert to_plain(finalize(merged)) == {"b": {"tags": ["y"]}}


def test_a_value_keeps_the_place_that_stated_it() -> None:
    old, new = table("b: {x: 1, y: 1}", "old.yaml"), table("b: {y: 2}", "new.yaml")
    merged = merge_suites(old, new).entries["b"]
    assert isinstance(merged, MappingNode)
    places = {key: node.origin.source for key, node in merged.entries.items()}
    assert places == {"x": "old.yaml", "y": "new.yaml"}


@pytest.mark.parametrize(("old", "what"), [({"x": 1}, "a mapping"), (1, "a single value")])
def test_appending_to_no_list(old: object, what: str) -> None:
    with pytest.raises(ConfigError) as error:
        merge(from_plain(old, DEFAULT), ListNode((), DEFAULT, appends=True))
    assert str(error.value) == (
        f"`append` in (default) adds to a list, but its key holds {what} ((default))"
    )


@given(st.lists(st.tuples(TABLES, TABLES), min_size=1, max_size=4))
def test_the_preset_of_each_level_is_applied_at_its_level(
    levels: list[tuple[MappingNode, MappingNode]],
) -> None:
    layers, one_by_one = [], []
    for own, stated in levels:
        preset = stated.without("tags")  # a preset states none
        presets = MappingNode({"small": preset}, DEFAULT)
        layers.append(own.with_entries({"presets": presets}))
        one_by_one += [own, replace(preset, replaces=False)]
    merged = apply_preset("small", reduce(merge_benchmark, layers)).entry
    assert to_plain(finalize(merged)) == to_plain(finalize(reduce(merge_benchmark, one_by_one)))
