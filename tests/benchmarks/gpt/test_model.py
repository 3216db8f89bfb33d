import pytest
import torch

from benchmarks.common import data
from benchmarks.gpt import model as gpt
from benchmarks.gpt import shapes

TINY = shapes.shape_of("GPTTiny", vocabulary=96, block=24)


def model(shape=TINY):
    torch.manual_seed(0)
    return gpt.make(shape)


def batch(size=4):
    words = torch.randint(TINY.vocabulary, (size, TINY.block + 1))
    return words[:, :-1], words[:, 1:]


def test_recomputation_is_a_third_of_the_blocks():
    head = 6 * 8 * TINY.block * TINY.width * TINY.vocabulary
    blocks = TINY.flop(8) - head
    assert TINY.flop(8, activation="checkpoint") == pytest.approx(blocks * 4 / 3 + head)


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
