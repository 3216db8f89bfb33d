"""The laws of merging; `!delete`, `append` and tags among them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.config.merge import (
    finalize,
    inherit,
    merge,
    merge_benchmark,
    merge_suites,
    read_suite,
)
from milabench_ddp.config.tree import (
    DEFAULT,
    DeleteNode,
    ListNode,
    MappingNode,
    ScalarNode,
    TreeNode,
    from_plain,
    to_plain,
)
from milabench_ddp.errors import ConfigError
from tests.support.configuration import entries, table, write

KEYS = st.sampled_from(["a", "b", "argv", "tags"])
SCALARS = st.builds(ScalarNode, st.sampled_from([None, 1, 2, "x"]), st.just(DEFAULT))
LISTS = st.lists(SCALARS, max_size=2).map(lambda items: ListNode(tuple(items), DEFAULT))


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
            "expected a mapping of the benchmark's keys, got `3`",
        ),
    ],
)
def test_bad_includes(here: Path, text: str, message: str) -> None:
    write("sub/x.yaml", text)
    write("y.yaml", "include: sub/x.yaml")
    with pytest.raises(ConfigError) as error:
        read_suite(Path("sub/x.yaml"))
    assert str(error.value) == message


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
        ("a: {inherits: a}", "inherit cycle: `a` (x.yaml:1) -> `a`"),
        (
            "z: {inherits: a}\na: {inherits: b}\nb: {inherits: [c]}\nc: {inherits: a}",
            "inherit cycle: `a` (x.yaml:2) -> `b` (x.yaml:3) -> `c` (x.yaml:4) -> `a`",
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
