import pytest
import torch

from benchmarks.common import data
from benchmarks.common.failure import UnsupportedError
from benchmarks.transformers import models, stages


@pytest.mark.parametrize("name", ["hf_Bert", "hf_GPT2", "hf_ViT_large"])
def test_stages_one_after_the_other_are_the_model(name):
    size = models.SIZES[name].sized(tiny=True)
    torch.manual_seed(0)
    model = models.make(size, tied=False).eval()
    place = data.Placement(torch.device("cpu"))
    inputs, targets = place(tuple(tensor[None] for tensor in models.samples(size, 2, seed=0)[1]))
    expected = models.loss(model, (inputs, targets))
    made = stages.stages(model, 3)
    x = inputs
    for stage in made:
        x = stage.eval()(x)
    assert torch.allclose(models.score_loss(x, (inputs, targets)), expected)
    names = [name for stage in made for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    sizes = [sum(p.numel() for p in stage.parameters()) for stage in made]
    assert max(sizes) < 0.6 * sum(sizes)


def test_more_stages_than_parts():
    model = models.make(models.SIZES["hf_GPT2"].sized(tiny=True), tied=False)
    with pytest.raises(
        UnsupportedError, match="a model of 4 blocks and two ends cannot have 7 stages"
    ):
        stages.stages(model, 7)


@pytest.mark.parametrize("name", ["hf_Bert", "hf_ViT_large"])
def test_tensor_parallelism_shards_every_matrix_of_the_blocks(name):
    model = models.make(models.SIZES[name].sized(tiny=True))
    plan = stages.tp_plan(model)
    assert len(plan) == 4 * 6  # query, key, value, output, up, down
    assert {"ColwiseParallel", "RowwiseParallel"} == {type(s).__name__ for s in plan.values()}
