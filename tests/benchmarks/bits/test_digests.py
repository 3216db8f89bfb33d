import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bits.digests import Digests, RepeatedPasses

HOST = torch.device("cpu")
WORDS = {torch.bfloat16: torch.int16, torch.float16: torch.int16,
         torch.float32: torch.int32, torch.float64: torch.int64}  # fmt: skip


def digest(values: torch.Tensor) -> int:
    return int(Digests(HOST).digest(values))


@pytest.mark.parametrize("dtype", WORDS)
def test_each_bit_of_each_element_is_seen(dtype):
    values = torch.randn(7, 3).to(dtype)
    before, changed = digest(values), []
    words = values.view(-1).view(WORDS[dtype])
    bits = 8 * values.element_size()
    for element in range(len(words)):
        for bit in range(bits):
            mask = -(2 ** (bits - 1)) if bit == bits - 1 else 2**bit
            words[element] ^= mask
            changed.append(digest(values))
            words[element] ^= mask
    assert digest(values) == before
    assert len(changed) == bits * len(words)
    assert before not in changed


@settings(deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    st.integers(1, 2**64 - 1),
    st.data(),
)
def test_any_change_of_one_element_is_seen(words, change, data):
    values = torch.tensor(words, dtype=torch.int64)
    before = digest(values.view(torch.float64))
    place = data.draw(st.integers(0, len(words) - 1))
    values[place] += change - 2**64 if change >= 2**63 else change
    assert digest(values.view(torch.float64)) != before


def test_elements_that_change_places_are_seen():
    values = torch.randn(5)
    assert digest(values) != digest(values.flip(0))
    assert digest(torch.tensor([0.0, -0.0])) != digest(torch.tensor([-0.0, 0.0]))


def test_the_digest_is_that_of_the_elements_in_order_and_leaves_them():
    values = torch.randn(4, 6)
    before = values.clone()
    assert digest(values.t()) == digest(values.t().contiguous()) != digest(values)
    assert torch.equal(values, before)
    words = values.double().view(torch.int64)  # also where the element is a whole number of 64 bits
    digest(words)
    assert torch.equal(words.view(torch.float64), before.double())


def test_the_formula():
    values = torch.tensor([1, 2, 3], dtype=torch.int32).view(torch.float32)
    weight = 0x9E3779B97F4A7C15
    expected = (1 * 1 + 2 * 3 + 3 * 5) * weight % 2**64
    assert digest(values) % 2**64 == expected


def passes_of(*passes: list[list[int]]) -> RepeatedPasses:
    """RepeatedPasses whose digests are given: a number for each tensor of each step."""
    made = RepeatedPasses(len(passes[0]))
    for steps in passes:
        for step in steps:
            made.take(torch.tensor(step))
    return made


FIRST = [[1, 2], [3, 4], [5, 6]]


def test_equal_passes_differ_nowhere():
    made = passes_of(FIRST, FIRST, FIRST[:1])
    assert made.verdict("ab") == {"passes": 2.333, "unequal_steps": 0}
    assert made.told() == FIRST


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("tensor", [0, 1])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_first_tensor_that_differs_is_told(step, tensor, number):
    """In pass ``number`` a tensor is wrong, and all that is computed after it."""
    passes = [[list(row) for row in FIRST] for _ in range(3)]
    for later in range(step, 3):
        for each in range(tensor if later == step else 0, 2):
            passes[number][later][each] += 100
    seen = passes_of(*passes).verdict("ab")
    assert seen["first"] == {"pass": max(number, 1), "step": step, "tensor": "ab"[tensor]}
    assert seen["unequal_steps"] == (3 - step) * (1 if number else 2)


def test_the_earliest_pass_counts_before_the_earliest_step():
    wrong_at_the_end = [*FIRST[:2], [5, 7]]
    wrong_at_once = [[0, 0], *FIRST[1:]]
    seen = passes_of(FIRST, wrong_at_the_end, wrong_at_once).verdict("ab")
    assert seen["first"] == {"pass": 1, "step": 2, "tensor": "b"}


def test_a_pass_that_was_cut_off_is_none():
    made = RepeatedPasses(3)
    made.take(torch.tensor([1, 2]))
    assert made.verdict("ab") == {"passes": 0.333, "unequal_steps": 0}
    assert not made.first_is_done
