from typing import Literal

import pytest
from msgspec import Struct

from milabench_ddp.config.checks import Count, Text, checked
from milabench_ddp.config.sizing import Memory
from milabench_ddp.config.tree import DEFAULT, ScalarNode, from_plain
from milabench_ddp.errors import ConfigError
from tests.support.configuration import table


class Inner(Struct, forbid_unknown_fields=True):
    count: Count
    word: Literal["weak", "strong"] | None = None


class Outer(Struct):
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    named: dict[str, Count] = {}
    text: Text = ""


def test_a_record_is_made_of_what_is_stated_and_null_is_not() -> None:
    stated = table("{inner: {count: 3, word: ~}, many: [{count: 1}], other: 1, text: ~}")
    assert checked(Outer, "x", stated) == Outer(Inner(3), (Inner(1),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inner:\n  count: 0", "wrong value for `x.inner.count` in x.yaml:2: "
                               "expected an integer >= 1, got `0`"),
        ("inner:\n  count: true", "wrong value for `x.inner.count` in x.yaml:2: "
                                  "expected an integer, got `true`"),
        ("inner: {}", "`x.inner` in x.yaml:1 has no `count`"),
        ("inner: {word: strong}", "`x.inner` in x.yaml:1 has no `count`"),
        ("inner: {count: ~}", "`x.inner` in x.yaml:1 has no `count`"),
        ("inner: {count: 1,\n word: strnog}", "wrong value for `x.inner.word` in x.yaml:2: "
         "expected `weak` or `strong`, got the text `strnog`: did you mean `strong`?"),
        ("inner: {count: 1,\n cuont: 2}", "unknown key `cuont` in x.yaml:2: "
                                          "did you mean `count`?"),
        ("inner: 1", "wrong value for `x.inner` in x.yaml:1: expected a mapping, got `1`"),
        ("many:\n- {count: 1}\n- {count: 0}", "wrong value for `x.many[1].count` in x.yaml:3: "
                                              "expected an integer >= 1, got `0`"),
        ("many: {}", "wrong value for `x.many` in x.yaml:1: expected a list, got a mapping"),
        ("named:\n  a: 1\n  b: c", "wrong value for `x.named.b` in x.yaml:3: "
                                   "expected an integer, got the text `c`"),
        ("text: ''", "wrong value for `x.text` in x.yaml:1: expected a text, got the text ``"),
    ],
)  # fmt: skip
def test_an_error_says_where_what_and_what_may_be_there(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        checked(Outer, "x", table(text))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("3885 MiB", 3885),
        ("8614.75 MiB", 8614.75),
        ("80 GiB", 81920),
        ("80GiB", 81920),
        ("1 tib", 2**20),
        ("4Go", 4e9 / 2**20),
        ("4 Gio", 4096),
        ("512", 512),
        (512, 512),
        (0.5, 0.5),
        ("1048576 B", 1),
    ],
)
def test_amounts(written: str | float, expected: float) -> None:
    assert checked(Memory, "x", ScalarNode(written, DEFAULT)) == pytest.approx(expected)


@pytest.mark.parametrize("written", ["", "much", "3 parsecs", "-1 MiB", True, None, ["1 MiB"]])
def test_no_amounts(written: object) -> None:
    with pytest.raises(
        ConfigError, match=r"^wrong value for `x` in \(default\): expected an amount of memory such"
    ):
        checked(Memory, "x", from_plain(written, DEFAULT))
