"""Literals that are looked for together are found as they are one by one."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milabench_ddp.literals import Literals

WORDS = ("ab", "abc", "abd", "-----B", "---", "é", "éa", "ghp_", "gho_", "\ud800x", "\0\0a", "xyz")


def one_by_one(literals: Sequence[str], text: str) -> str:
    for number, literal in enumerate(literals):
        text = text.replace(literal, f"<{number}>") if literal in text else text
    return text


def together(literals: Sequence[str], text: str) -> str:
    def replaced(number: int, before: str) -> str:
        return before.replace(literals[number], f"<{number}>")

    return Literals(literals).replace(text, replaced)


@given(
    st.lists(st.sampled_from(WORDS), max_size=30),
    st.permutations(WORDS),
    st.sampled_from(["", " ", "-", "a", "é", "\0", "\ud800"]),
)
@example(["ab"], WORDS, " ")
def test_they_are_found_as_one_by_one(parts: list[str], literals: list[str], between: str) -> None:
    for filled in ("", between * 700, " " * 9000):
        text = between.join(parts) + filled + between.join(parts)
        assert together(literals, text) == one_by_one(literals, text)
        expected = {number for number, each in enumerate(literals) if each in text}
        assert Literals(literals).numbers_in(text) == expected


@given(st.lists(st.text("ab<1>", min_size=1, max_size=4), min_size=7, max_size=20, unique=True))
def test_what_is_put_in_may_have_the_next_ones(literals: list[str]) -> None:
    for text in ("ab" * 400, "".join(literals) + "z" * 600, "z" * 600 + "".join(literals)):
        # Each appears with what stood around it: its number is bounded by the literals'.
        assert together(literals, text) == one_by_one(literals, text)


@pytest.mark.parametrize("place", [0, 1, 300, 601, -1])
def test_each_is_found_at_both_ends_and_between(place: int) -> None:
    for number, literal in enumerate(WORDS):
        text = "." * 1200
        at = place % 1201
        found = together(WORDS, f"{text[:at]}{literal}{text[at:]}")
        assert found == one_by_one(WORDS, f"{text[:at]}{literal}{text[at:]}"), number
        assert found != f"{text[:at]}{literal}{text[at:]}"


def test_texts_without_one_are_left_alone() -> None:
    def replaced(number: int, text: str) -> str:
        raise AssertionError(number, text)

    assert Literals(WORDS).replace("z" * 2000, replaced) == "z" * 2000
    assert Literals(()).replace("z" * 2000, replaced) == "z" * 2000
