"""The formulas against what PyTorch counts in forward and backward, on the meta device."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.common import vision
from benchmarks.common.flop_count import RESNETS, counted
from benchmarks.transformers import models

META, CPU = torch.device("meta"), torch.device("cpu")
WITHIN = 0.02
STEM = 2 * 7 * 7 * 3 * 64 * 112**2  # the first convolution, of an image of 224 pixels


def both_passes(make, loss, device=META):
    with device:
        model = make()
        with FlopCounterMode(display=False) as counter:
            loss(model).backward()
    return counter.get_total_flops()


def classifier(name, size):
    argv = ["--model", name, "--image-size", str(size)]
    return vision.make_workload(vision.options("").parse_args(argv))


@pytest.mark.parametrize(
    ("name", "size"),
    [("resnet18", 224), ("resnet50", 224), ("resnet50", 75)],
)
def test_resnet(name, size):
    work = classifier(name, size)
    batch = torch.empty(2, 3, size, size, device=META), torch.empty(2, dtype=int, device=META)
    found = both_passes(work.make_model, lambda model: work.loss(model, batch))
    assert RESNETS[name].flop(2, size, 1000) == pytest.approx(found, rel=WITHIN)


@pytest.mark.parametrize("name", sorted(RESNETS))
def test_resnet_forward(name):
    """Grouped convolutions too, for whose weights' gradient the counter is wrong."""
    work = classifier(name, 224)
    found, _ = counted(work.make_model, lambda model: model(torch.empty(1, 3, 224, 224)))
    assert RESNETS[name].flop(1, 224, 1000) + STEM == pytest.approx(found, rel=WITHIN)


@pytest.mark.parametrize("name", sorted(models.SIZES))
def test_transformers(name):
    """With attention as plain matrix products: the fused kernels are counted otherwise, or not."""
    size, device = models.SIZES[name], META
    if size.family == "gpt2":  # its mask is made by looking at values
        size, device = replace(size, length=64, vocabulary=1000), CPU
    size = replace(size, layers=2)
    samples = models.samples(size, 2, seed=0)
    batch = [torch.stack([samples[0][k], samples[1][k]]).to(device) for k in range(2)]
    loss = models.t5_loss if size.family == "t5" else models.loss
    found = both_passes(
        lambda: models.make(size, attention="eager"), lambda model: loss(model, batch), device
    )
    assert size.flop(2) == pytest.approx(found, rel=WITHIN)
