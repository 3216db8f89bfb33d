from pathlib import Path

import pytest

from milabench_ddp.config.tree import (
    DEFAULT,
    Items,
    Leaf,
    Origin,
    Removed,
    Table,
    describe,
    map_leaves,
    node_of,
    plain,
    scalar_text,
)


def test_an_origin_is_file_and_line_or_words(here: Path) -> None:
    assert str(Origin(str(here / "x.yaml"), 12)) == "x.yaml:12"
    assert str(DEFAULT) == "(default)"


def test_relative_paths_start_from_the_file_or_from_here(here: Path) -> None:
    assert Origin("/etc/x.yaml", 1).folder == Path("/etc")
    assert Origin("--override a.b=c").folder == here


@pytest.mark.parametrize("value", [None, 1, "a", [1, ["b", {}]], {"k": {"l": [None]}}])
def test_a_plain_value_and_its_tree_are_the_same(value: object) -> None:
    assert plain(node_of(value, DEFAULT)) == value


def test_what_is_not_settled_has_no_plain_value() -> None:
    with pytest.raises(TypeError, match="not settled"):
        plain(Removed(DEFAULT))


def test_leaves_are_changed_wherever_they_are() -> None:
    tree = node_of({"a": [1, {"b": 2}], "c": 3}, DEFAULT)
    doubled = map_leaves(tree, lambda leaf: Leaf(leaf.value * 2, leaf.origin))  # type: ignore[operator]
    assert plain(doubled) == {"a": [2, {"b": 4}], "c": 6}


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (None, "null"), (1, "1"), (0.01, "0.01"), ("No", "No")],
)
def test_scalars_as_text(value: object, text: str) -> None:
    assert scalar_text(value) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Leaf("ten", DEFAULT), "the text `ten`"),
        (Leaf(True, DEFAULT), "`true`"),
        (Items((), DEFAULT), "a list"),
        (Table({}, DEFAULT), "a mapping"),
        (node_of({"worker": None}, DEFAULT), "a mapping (a placeholder needs quotes: '{worker}')"),
        (Removed(DEFAULT), "`!delete`"),
    ],
)
def test_a_value_in_an_error(node: Leaf, text: str) -> None:
    assert describe(node) == text
