from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.commands.resolve import scalar, to_yaml
from milabench_ddp.config.tree import DEFAULT, from_plain, to_plain
from tests.support.configuration import entries

TEXT = st.text(max_size=8) | st.text(alphabet="ab -:#{}[],&*!|>'\"%@`\n\t0.=~", max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
TREES = st.dictionaries(
    TEXT,
    st.dictionaries(
        TEXT,
        st.recursive(
            SCALARS,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
            max_leaves=8,
        ),
        max_size=3,
    ),
    min_size=1,
    max_size=3,
)


@given(TREES, st.booleans())
def test_what_is_printed_loads_to_the_same(tree: dict[str, Any], explain: bool) -> None:
    node = from_plain(tree, DEFAULT)
    printed = to_yaml(node.entries, explain=explain)  # type: ignore[union-attr, arg-type]
    assert yaml.safe_load(printed) == tree


@given(st.text())
def test_a_scalar_is_one_line(text: str) -> None:
    assert "\n" not in scalar(text)


def test_plain_text_stays_plain() -> None:
    words = ["resnet50", "a b", "/data/x.py", "--batch-size", "per_gpu", "a-b_c.d"]
    assert [scalar(word) for word in words] == words


def test_what_yaml_takes_for_something_else_is_quoted() -> None:
    for word in ["true", "No", "null", "1", "1.5", "", "- a", "a: b", "a #b", "--", "2026-01-02"]:
        assert scalar(word) == f'"{word}"'


def test_every_value_has_its_place() -> None:
    text = """
    a:
      weight: 1
      tags:
        - x
      env: {}
      argv: {--x: [1, {k: v}]}
    """
    printed = to_yaml(entries(text), explain=True)
    assert printed == (
        "a:\n"
        "  weight: 1  # x.yaml:3\n"
        "  tags:\n"
        "    - x  # x.yaml:5\n"
        "  env: {}  # x.yaml:6\n"
        "  argv:\n"
        "    --x:\n"
        "      - 1  # x.yaml:7\n"
        "      -\n"
        "        k: v  # x.yaml:7\n"
    )
    assert yaml.safe_load(printed) == {k: to_plain(v) for k, v in entries(text).items()}
