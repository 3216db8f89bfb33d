import pytest
import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.gpt import model as gpt
from benchmarks.gpt import shapes
from benchmarks.gpt import stages as gpt_stages

TINY = shapes.shape_of("GPTTiny", vocabulary=96, block=24)


def model():
    torch.manual_seed(0)
    return gpt.make(TINY)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_stages_in_a_row_are_the_model(count):
    whole = model()
    tokens = torch.randint(TINY.vocabulary, (4, TINY.block))
    expected = whole(tokens)
    stages = gpt_stages.stages(whole, count)
    assert len(stages) == count
    x = tokens
    for stage in stages:
        x = stage(x)
    assert torch.equal(x, expected)
    names = [name for stage in stages for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in whole.named_parameters())


def test_stages_are_balanced():
    sizes = [sum(p.numel() for p in stage.parameters()) for stage in gpt_stages.stages(model(), 4)]
    blocks = [len(stage.blocks) for stage in gpt_stages.stages(model(), 4)]
    told = gpt_stages.stage_sizes(TINY, 4)
    assert [size.parameters for size in told] == sizes
    assert [size.blocks for size in told] == blocks
    assert max(sizes) <= TINY.parameters / 4 + TINY.block_parameters


def test_more_stages_than_layers():
    with pytest.raises(
        UnsupportedError, match="a model of 8 blocks, an embedding and a head cannot have 1"
    ):
        gpt_stages.stages(model(), 11)


def test_one_stage_is_the_model():
    (size,) = gpt_stages.stage_sizes(TINY, 1)
    assert (size.parameters, size.blocks) == (TINY.parameters, TINY.layers)
