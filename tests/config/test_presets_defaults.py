from milabench_ddp.config.presets import with_defaults
from milabench_ddp.config.tree import DEFAULT, to_plain
from tests.support.configuration import table


def test_what_is_not_said() -> None:
    found = with_defaults("b", table("{}"), "rocm")
    assert to_plain(found) == {
        "enabled": True,
        "group": "b",
        "install_group": "b",
        "install_variant": "rocm",
        "max_duration": 600,
        "weight": 0,
    }
    assert {node.origin for node in found.entries.values()} == {DEFAULT}


def test_what_is_said_stays_and_the_group_is_the_install_group() -> None:
    found = to_plain(with_defaults("b", table("{weight: 3, group: g, enabled: false}"), "cuda"))
    assert (found["weight"], found["group"], found["install_group"]) == (3, "g", "g")
    assert found["enabled"] is False


def test_null_is_not_said() -> None:
    found = to_plain(with_defaults("b", table("{max_duration: ~, num_machines: ~}"), "cuda"))
    assert found["max_duration"] == 600
    assert "num_machines" not in found


def test_tags_are_sorted_and_once() -> None:
    assert to_plain(with_defaults("b", table("tags: [c, a, b, a]"), "cuda"))["tags"] == [
        "a",
        "b",
        "c",
    ]


def test_tags_of_a_wrong_type_are_left_for_the_check() -> None:
    assert to_plain(with_defaults("b", table("tags: [c, 1]"), "cuda"))["tags"] == ["c", 1]
