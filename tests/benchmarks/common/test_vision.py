import pytest
import torch
from common import vision
from common.failure import Refusal
from common.precision import PRECISIONS

META = torch.device("meta")


def made(*argv):
    args = vision.options("").parse_args(argv)
    with META:  # shapes alone: nothing is computed
        return vision.model(args, PRECISIONS["bf16"], META)


@pytest.mark.parametrize(
    ("name", "size"),
    [("googlenet", 64), ("inception_v3", 96), ("vit_b_32", 64), ("resnet152", 64)],
)
def test_classifiers_take_the_images_and_give_one_output(name, size):
    model = made("--model", name, "--image-size", str(size))
    out = model(torch.empty(2, 3, size, size, dtype=torch.bfloat16, device=META))
    assert out.shape == (2, 1000)
    assert out.dtype is torch.bfloat16


def test_channels_last():
    weight = next(p for p in made("--channels-last").parameters() if p.dim() == 4)
    assert weight.is_contiguous(memory_format=torch.channels_last)


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(Refusal, match="unknown model 'resnet5': did you mean resnet50, "):
        made("--model", "resnet5")


def test_detectors_are_no_classifiers():
    with pytest.raises(Refusal, match="unknown model 'fasterrcnn_resnet50_fpn'"):
        made("--model", "fasterrcnn_resnet50_fpn")
