import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.common import data
from benchmarks.gpt import model as gpt

TINY = gpt.shape_of("GPTTiny", vocabulary=96, block=24)


def model(shape=TINY):
    torch.manual_seed(0)
    return gpt.make(shape)


def batch(size=4):
    words = torch.randint(TINY.vocabulary, (size, TINY.block + 1))
    return words[:, :-1], words[:, 1:]


@pytest.mark.parametrize(
    ("name", "billions"),
    [("GPTSmall", 0.09), ("GPTXXXL", 6.5), ("GPT175B", 174.0), ("GPT1T", 1007.0)],
)
def test_sizes(name, billions):
    assert gpt.shape_of(name, 3072, 128).parameters / 1e9 == pytest.approx(billions, rel=0.01)


def test_parameters_are_those_of_the_formula():
    parts = model()
    assert sum(p.numel() for p in parts.parameters()) == TINY.parameters
    assert all(
        sum(p.numel() for p in block.parameters()) == TINY.block_parameters
        for block in gpt.blocks_of(parts)
    )


def test_operations_are_those_that_are_counted():
    shape = gpt.shape_of("GPTSmall", vocabulary=3072, block=128)
    with torch.device("meta"):
        parts = gpt.make(shape)
        tokens = torch.zeros(2, shape.block, dtype=torch.long)
        with FlopCounterMode(display=False) as counter:
            gpt.loss(parts, (tokens, tokens)).backward()
    assert shape.flop(2) == pytest.approx(counter.get_total_flops(), rel=0.02)


def test_recomputation_is_a_third_of_the_blocks():
    head = 6 * 8 * TINY.block * TINY.width * TINY.vocabulary
    blocks = TINY.flop(8) - head
    assert TINY.flop(8, recomputed=True) == pytest.approx(blocks * 4 / 3 + head)


def test_no_token_sees_what_follows():
    parts, (tokens, _) = model(), batch(1)
    other = tokens.clone()
    other[0, -1] = (other[0, -1] + 1) % TINY.vocabulary
    before, after = parts(tokens), parts(other)
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])


def test_a_split_batch_is_the_batch():
    tokens, targets = batch(6)
    parts = data.split_batch((tokens, targets), 3)
    assert torch.equal(torch.cat([part[0] for part in parts]), tokens)
    assert torch.equal(torch.cat([part[1] for part in parts]), targets)
