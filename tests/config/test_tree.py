from pathlib import Path

import pytest

from milabench_ddp.config.tree import (
    DEFAULT,
    DeleteNode,
    ListNode,
    MappingNode,
    Origin,
    ScalarNode,
    describe_value,
    expanded,
    from_plain,
    map_scalars,
    scalar_text,
    shown,
    to_plain,
)


def test_an_origin_is_file_and_line_or_words(here: Path) -> None:
    assert str(Origin(str(here / "x.yaml"), 12)) == "x.yaml:12"
    assert str(DEFAULT) == "(default)"


def test_relative_paths_start_from_the_file_or_from_here(here: Path) -> None:
    assert Origin("/etc/x.yaml", 1).folder == Path("/etc")
    assert Origin("--override a.b=c").folder == here


@pytest.mark.parametrize("value", [None, 1, "a", [1, ["b", {}]], {"k": {"l": [None]}}])
def test_a_plain_value_and_its_tree_are_the_same(value: object) -> None:
    assert to_plain(from_plain(value, DEFAULT)) == value


def test_what_is_not_final_has_no_plain_value() -> None:
    with pytest.raises(TypeError, match="not final"):
        to_plain(DeleteNode(DEFAULT))


def test_scalars_are_changed_wherever_they_are() -> None:
    tree = from_plain({"a": [1, {"b": 2}], "c": 3}, DEFAULT)
    doubled = map_scalars(tree, lambda node, _: ScalarNode(node.value * 2, node.origin))  # type: ignore[operator]
    assert to_plain(doubled) == {"a": [2, {"b": 4}], "c": 6}


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (None, "null"), (1, "1"), (0.01, "0.01"), ("No", "No")],
)
def test_scalars_as_text(value: object, text: str) -> None:
    assert scalar_text(value) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (ScalarNode("ten", DEFAULT), "the text `ten`"),
        (ScalarNode(True, DEFAULT), "`true`"),
        (ListNode((), DEFAULT), "a list"),
        (MappingNode({}, DEFAULT), "a mapping"),
        (
            from_plain({"worker": None}, DEFAULT),
            "a mapping (a placeholder needs quotes: '{worker}')",
        ),
        (DeleteNode(DEFAULT), "`!delete`"),
    ],
)
def test_a_value_in_an_error(node: ScalarNode, text: str) -> None:
    assert describe_value(node) == text


def test_a_path_below_the_current_folder_is_shown_relative(here: Path) -> None:
    assert shown(here / "config" / "x.yaml") == "config/x.yaml"


def test_a_path_far_away_is_shown_whole(here: Path) -> None:
    assert shown("/etc/x.yaml") == "/etc/x.yaml"


def test_the_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expanded("~/x.yaml") == Path("/home/me/x.yaml")
    assert expanded("x/~") == Path("x/~")


def test_a_user_who_does_not_exist() -> None:
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
