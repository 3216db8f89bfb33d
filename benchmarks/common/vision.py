"""Options, model and data that the programs for image classifiers share."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torchvision import models
from torchvision.models.resnet import BasicBlock, Bottleneck

from benchmarks.common import cli, data, fitting, flop_count, model_memory, strategies, training
from benchmarks.common.data import LOADERS, Source, split_batch
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.training import Task
from benchmarks.common.workload import Batch, Workload, repeated_blocks

CLASSES = 1000
CALM = 0.1  # of batch norms in --check-correctness: weight behind a residual block's last, eps


def options(
    description: str | None, modes: Sequence[str] = ("single",), mode: str = "single"
) -> argparse.ArgumentParser:
    """The command line of a program that trains an image classifier in one of ``modes``."""
    parser = cli.parser(description)
    add = parser.add_argument
    add("--model", default="resnet50", help="name of a classifier of torchvision.models")
    add("--image-size", type=cli.positive, default=224, help="height and width, in pixels")
    add("--channels-last", action="store_true", help="keep images as NHWC in memory")
    add("--data", type=Path, metavar="FOLDER", help="folder of images for --loader image-folder")
    training.add_options(parser, loaders=LOADERS)
    strategies.add_options(parser, modes, mode)
    return parser


def checked(args: argparse.Namespace, group: Group) -> Workload:
    """The classifier, which fits the devices, maybe with a smaller batch: see ``fitting.fit``."""
    check_model(args)
    workload = make_workload(args)
    strategies.check(args, workload, group)
    sample = data.Images(1, args.image_size, CLASSES, args.seed)[0]
    fitting.fit(args, group, workload, model_memory.estimate(args, workload, sample, group))
    return workload


def check_model(args: argparse.Namespace) -> None:
    """Raise ``UnsupportedError`` for an unknown model."""
    known = models.list_models(module=models)
    if args.model not in known:
        raise UnsupportedError(cli.unknown("model", args.model, known))


def make_workload(args: argparse.Namespace) -> Workload:
    """The classifier with random weights, and the cross entropy of its labels."""
    torch.backends.cudnn.benchmark = True  # the shapes never change
    return Workload(
        make_model=lambda: _model(args), loss=_loss, blocks=repeated_blocks, split=split_batch
    )


def make_source(args: argparse.Namespace, group: Group) -> Source:
    """Batches of images and labels, as the options say."""
    if data.loader_of(args) == "image-folder":
        images = data.image_folder(args.data, args.image_size, CLASSES)
    else:
        count = data.sample_count(args, group.world_size)
        images = data.Images(count, args.image_size, CLASSES, args.seed)
    return data.source(args, images, group, _memory_format(args))


def reduced(args: argparse.Namespace, group: Group) -> tuple[argparse.Namespace, Workload, Source]:
    """Options, model and data of ``--check-correctness``: the model itself, calmed; few images."""
    few = training.few(args, group)
    workload = replace(make_workload(few), make_model=lambda: calmed(_model(few)))
    return few, workload, make_source(few, group)


def calmed(model: nn.Module) -> nn.Module:
    """The same model, without the chaos of untrained batch norms.

    The last one of a residual block weighs 0.1 (Goyal et al. 2017, arXiv:1706.02677, begin with 0,
    where nothing flows back through a block), and none amplifies what hardly varies. Gradients of
    ResNet-50 after two updates in fp64, two images of 32 pixels as NHWC and as NCHW, differ by 1,
    calmed by 7e-15.
    """
    for module in model.modules():
        if isinstance(module, BasicBlock):
            nn.init.constant_(module.bn2.weight, CALM)
        elif isinstance(module, Bottleneck):
            nn.init.constant_(module.bn3.weight, CALM)
        elif isinstance(module, nn.BatchNorm2d):
            module.eps = CALM
    return model


def make_task(args: argparse.Namespace) -> Task:
    """The images of a step, and its operations: by formula for a ResNet, counted for others."""
    count, size = args.batch_size, args.image_size

    def forward(model: nn.Module) -> None:
        model(torch.empty(2, 3, size, size))  # two: a batch norm needs several values per channel

    flops, parameters = flop_count.counted(lambda: _model(args), forward)
    if args.model in flop_count.RESNETS:
        flops = flop_count.RESNETS[args.model].flop(count, size, CLASSES)
        return Task(args.model, count, "images", flops, parameters)
    counter = "3 x forward of torch.utils.flop_counter"
    return Task(args.model, count, "images", flops / 2 * count, parameters, counter)


def _model(args: argparse.Namespace) -> nn.Module:
    made: nn.Module = models.get_model(args.model, weights=None, **_settings(args))
    return made.to(memory_format=_memory_format(args))


def _loss(model: nn.Module, batch: Batch) -> Tensor:
    images, labels = batch
    return cross_entropy(model(images), labels)


def _memory_format(args: argparse.Namespace) -> torch.memory_format:
    return torch.channels_last if args.channels_last else torch.contiguous_format


def _settings(args: argparse.Namespace) -> dict[str, object]:
    settings: dict[str, object] = {"num_classes": CLASSES}
    if args.model in ("googlenet", "inception_v3"):
        settings |= {"aux_logits": False, "init_weights": True}
    if args.model.startswith("vit_"):
        settings["image_size"] = args.image_size
    return settings
