from pathlib import Path

import pytest

from milabench_ddp.config.tree import DeleteNode, ListNode, MappingNode, TreeNode, to_plain
from milabench_ddp.config.yaml_reader import read_yaml
from milabench_ddp.errors import ConfigError
from tests.support.configuration import table, write


def at(node: TreeNode, *keys: str) -> TreeNode:
    for key in keys:
        assert isinstance(node, MappingNode)
        node = node.entries[key]
    return node


def test_every_value_knows_its_file_and_line(here: Path) -> None:
    top = read_yaml(write("x.yaml", "a:\n  b: 1\n  c:\n    - x\n    - y\n"))
    assert str(at(top, "a").origin) == "x.yaml:1"
    assert str(at(top, "a", "b").origin) == "x.yaml:2"
    assert str(at(top, "a", "c").origin) == "x.yaml:3"
    assert [str(item.origin) for item in at(top, "a", "c").items] == ["x.yaml:4", "x.yaml:5"]


def test_scalars_have_the_types_of_yaml() -> None:
    top = table("{a: 1, b: 0.5, c: true, d: ~, e: text, f: '1', g: 1e-5, h: 0x10, i: 2026-01-02}")
    values = to_plain(top)
    assert values == {
        "a": 1, "b": 0.5, "c": True, "d": None, "e": "text", "f": "1", "g": "1e-5", "h": 16,
        "i": "2026-01-02",
    }  # fmt: skip


def test_keys_are_the_text_that_was_written() -> None:
    assert list(table("{1: a, yes: b, null: c, --x: d}").entries) == ["1", "yes", "null", "--x"]


def test_delete_and_append_wait() -> None:
    top = table("a: !delete\nb: {append: [1]}\nc: {append: 1}\nd: {append: [1], e: 2}")
    assert isinstance(at(top, "a"), DeleteNode)
    appended = at(top, "b")
    assert isinstance(appended, ListNode)
    assert appended.appends
    assert isinstance(at(top, "c"), MappingNode)
    assert isinstance(at(top, "d"), MappingNode)


def test_anchors_and_merge_keys() -> None:
    top = table("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\nd: {<<: [*a, {x: 9, z: 8}]}")
    assert to_plain(top) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": {"x": 1, "y": 2},
        "d": {"x": 1, "z": 8, "y": 2},
    }


def test_an_empty_file_is_an_empty_mapping(here: Path) -> None:
    assert read_yaml(write("x.yaml", "# nothing\n")).entries == {}


def test_a_byte_order_mark_is_no_part_of_the_first_key(here: Path) -> None:
    Path("x.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert list(read_yaml(Path("x.yaml")).entries) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: [1",
            "x.yaml:2: invalid YAML: did not find expected ',' or ']' "
            "while parsing a flow sequence, which begins on line 1: close the bracket",
        ),
        (
            "a: 1\nb\n",
            "x.yaml:3: invalid YAML: could not find expected ':' "
            "while scanning a simple key, which begins on line 2: a key ends with a colon",
        ),
        (
            "a:\n\t- b",
            "x.yaml:2: invalid YAML: found character that cannot start any token: "
            "put this into quotes, or indent with blanks",
        ),
        ("a: 1\n---\nb: 2", "x.yaml:2: invalid YAML: but found another document"),
        ("a: \x00", "x.yaml:1: invalid YAML: control characters are not allowed"),
        ("- a", "x.yaml:1: the top of the file must be a mapping `name: ...`"),
        ("a: 1\nb: 2\na: 3", "key `a` in x.yaml:3 is stated twice, first in x.yaml:1"),
        ("? [a]\n: b", "x.yaml:1: a key must be a plain word, not a list or a mapping"),
        ("a: !delte", "unknown tag `!delte` in x.yaml:1: did you mean `!delete`?"),
        ("a: !!python/name:os.system x", "unknown tag `!!python/name:os.system` in x.yaml:1"),
        ("a: !!int ten", "x.yaml:1: `ten` is not of type int"),
        ("a: &a [*a]", "x.yaml:1: an alias that contains itself"),
        ("a: {<<: 1}", "x.yaml:1: `<<` takes mappings"),
    ],
)
def test_broken_files(here: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_yaml(write("x.yaml", text))
    assert str(error.value) == message


def test_a_missing_file(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"^config/no\.yaml: no such file$"):
        read_yaml(Path("config/no.yaml"))


def test_a_folder(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"^prog: cannot be read: Is a directory$"):
        read_yaml(Path("prog"))


def test_a_file_that_is_no_text(here: Path) -> None:
    Path("x.yaml").write_bytes(b"a: 1\nb: \xff")
    with pytest.raises(ConfigError) as error:
        read_yaml(Path("x.yaml"))
    assert str(error.value) == "x.yaml:2: not UTF-8 text: invalid start byte: save it as UTF-8"
