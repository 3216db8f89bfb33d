from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.common import correctness, strategies, vision
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group

META = torch.device("meta")


def args_of(*argv):
    return vision.options("").parse_args(argv)


def made(*argv):
    with META:  # shapes alone: nothing is computed
        return vision.make_workload(args_of(*argv)).make_model()


@pytest.mark.parametrize(
    ("name", "size"),
    [("googlenet", 64), ("inception_v3", 96), ("vit_b_32", 64), ("resnet152", 64)],
)
def test_classifiers_take_the_images_and_give_one_output(name, size):
    model = made("--model", name, "--image-size", str(size))
    assert model(torch.empty(2, 3, size, size, device=META)).shape == (2, 1000)


def test_channels_last():
    weight = next(p for p in made("--channels-last").parameters() if p.dim() == 4)
    assert weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("name", "count"), [("resnet50", 16), ("vit_b_16", 12), ("swin_t", 15), ("vgg11", 0)]
)
def test_the_repeated_blocks(name, count):
    args = args_of("--model", name)
    with META:
        work = vision.make_workload(args)
        model = work.make_model()
    blocks = work.blocks(model)
    assert len([b for b in blocks if not isinstance(b, nn.Sequential)]) == count


def test_the_operations_of_a_resnet_are_by_formula_and_of_others_counted():
    resnet = vision.make_task(args_of("--batch-size", "4", "--image-size", "64"))
    assert (resnet.flops_source, resnet.parameters) == ("formula", 25_557_032)
    vgg = vision.make_task(args_of("--model", "vgg11", "--batch-size", "4"))
    assert vgg.flops_source == "3 x forward of torch.utils.flop_counter"
    # 7.61 G multiplications for an image, says torchvision's documentation.
    assert vgg.flops == pytest.approx(4 * 3 * 2 * 7.61e9, rel=0.01)


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(UnsupportedError, match="unknown model 'resnet5': did you mean resnet50, "):
        vision.check_model(args_of("--model", "resnet5"))


def test_detectors_are_no_classifiers():
    with pytest.raises(UnsupportedError, match="unknown model 'fasterrcnn_resnet50_fpn'"):
        vision.check_model(args_of("--model", "fasterrcnn_resnet50_fpn"))


@pytest.mark.parametrize("calmed", [True, False])
def test_a_right_resnet_passes_the_check_whatever_kernels_compute_it(calmed):
    """Images as NHWC are computed by other kernels. The model that is measured magnifies rounding.

    Two images of 32 pixels are the worst: the last batch norms see two values for each channel.
    """

    def other_kernels(args, work, group):
        def make():
            return work.make_model().to(memory_format=torch.channels_last)

        return strategies.build(args, replace(work, make_model=make), group)

    alone = Group(torch.device("cpu"))
    argv = "--model resnet18 --image-size 32 --batch-size 2 --precision fp64"
    args, work, source = vision.reduced(args_of(*argv.split()), alone)
    if not calmed:
        work = vision.make_workload(args)
    found = correctness.check(args, work, alone, other_kernels, source.batch)
    assert found.ok is calmed
    assert found.gradient_error < 1e-13 if calmed else found.gradient_error > 1e-7


def test_the_check_has_few_images_and_the_same_layers():
    alone = Group(torch.device("cpu"))
    args, work, _ = vision.reduced(args_of("--batch-size", "256"), alone)
    assert args.batch_size == 8
    with META:
        checked = dict(work.make_model().named_parameters())
    measured = dict(made().named_parameters())
    assert {k: p.shape for k, p in checked.items()} == {k: p.shape for k, p in measured.items()}
