import pytest
import torch
from torch import nn
from torchvision.ops import StochasticDepth

from benchmarks.common.dropout import has_dropout, without_dropout
from benchmarks.transformers import models


class Own(nn.Module):
    """Keeps its probability in an attribute, like the attention of T5."""

    def __init__(self, rate):
        super().__init__()
        self.dropout_rate = rate

    def forward(self, x):
        return nn.functional.dropout(x, self.dropout_rate, self.training)


KINDS = {
    "dropout": lambda p: nn.Dropout(p),
    "images": lambda p: nn.Dropout2d(p),
    "depth": lambda p: StochasticDepth(p, "row"),
    "own": Own,
}


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_found_and_taken_away(kind):
    model = nn.Sequential(nn.Identity(), KINDS[kind](0.5))
    x = torch.ones(64, 2, 4, 4)
    assert has_dropout(model)
    assert not torch.equal(model(x), x)
    assert torch.equal(without_dropout(model)(x), x)
    assert not has_dropout(model)
    assert not has_dropout(KINDS[kind](0.0))


@pytest.mark.parametrize("name", ["hf_Bert", "hf_GPT2", "hf_T5"])
def test_no_model_of_transformers_draws_a_mask_without_it(name):
    size = models.SIZES[name].sized(tiny=True, layers=1)
    model = models.make(size).train()
    batch = tuple(x[None] for x in models.samples(size, 1, 0)[0])
    compute = models.t5_loss if name == "hf_T5" else models.loss
    assert has_dropout(model)
    assert compute(model, batch) != compute(model, batch)
    without_dropout(model)
    assert compute(model, batch) == compute(model, batch)
