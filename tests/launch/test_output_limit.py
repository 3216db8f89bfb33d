from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.launch.output_limit import OutputLimit

LIMIT = 800 / 2**20  # MiB: 700 bytes for the first part, and 100 for the last


def kept(chunks: Sequence[str], limit: float = LIMIT) -> str:
    """What is kept of output that arrives in these chunks."""
    told = OutputLimit(limit)
    return "".join([*map(told.keep, chunks), told.rest()])


def size(text: str) -> int:
    """The bytes of a text in a file."""
    return len(text.encode())


def test_little_is_kept_as_it_is():
    lines = [f"{number}\n" for number in range(100)]
    assert kept(lines) == "".join(lines)


@pytest.mark.parametrize("together", [1, 7, 1000])
def test_the_first_and_the_last_part_of_a_flood_are_kept(together: int):
    lines = [f"line {number:03}\n" for number in range(1000)]  # of 9 bytes
    chunks = ["".join(lines[k : k + together]) for k in range(0, 1000, together)]
    first, said, *rest = kept(chunks).splitlines()[76:]
    assert first == "line 076"
    assert said == (
        "[milabench: max_output is 0.000762939 MiB: only the last 100 B after this are kept]"
    )
    assert rest[0] == "[milabench: 912 lines (8.21 kB) are left out here]"
    assert rest[1:] == [f"line {number}" for number in range(989, 1000)]


@given(st.lists(st.text("ab\n", max_size=30), max_size=60))
def test_what_is_kept_and_what_is_left_out_are_all(chunks: list[str]):
    whole, said = "".join(chunks), kept(chunks, 60 / 2**20)
    if "[milabench: " not in said:
        assert said == whole
        return
    first, _, rest = said.partition("[milabench: max_output")
    _, _, rest = rest.partition("\n")
    left_out, _, last = rest.partition("\n") if "left out here]\n" in rest else ("", "", rest)
    if not whole.startswith(first):  # a long line was cut: what is said begins a line
        first = first.removesuffix("\n")
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert size(first) <= 53 + 1  # with a line end where it was cut
    middle = whole[len(first) : len(whole) - len(last)]
    lines = middle.count("\n")
    told = f"[milabench: {lines} line{'s' * (lines != 1)} ({size(middle)} B) are left out here]"
    assert left_out == (told if middle else "")
    assert size(last) <= 7 or not left_out


def test_a_line_that_never_ends_is_cut():
    said = kept(["x" * 2000, "y" * 50])
    first, over, out, last = said.split("\n")
    assert first == "x" * 700
    assert "only the last 100 B after this are kept" in over
    assert out == "[milabench: 0 lines (1.25 kB) are left out here]"
    assert last == "x" * 50 + "y" * 50


def test_a_limit_may_cut_a_letter_in_two():
    first, _, _, last = kept(["aé" * 500]).split("\n")
    assert first == "aé" * 233 + r"a"
    assert last == r"\xa9" + "aé" * 33
