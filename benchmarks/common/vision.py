"""What the image classifiers on one device and on many have in common."""

import argparse
from collections.abc import Iterator

import torch
from torchvision import models

from common import cli, data
from common.failure import Refusal
from common.group import Group
from common.precision import PRECISIONS, Precision

CLASSES = 1000
LOADER_HELP = "synthetic: fixed batches, on the device; pytorch: a DataLoader, every image new"
PRECISION_HELP = "amp: autocast to bf16; amp-fp16: to fp16, with a gradient scaler"


def options(description: str | None) -> argparse.ArgumentParser:
    """The command line of an image classifier's training."""
    parser = cli.parser(description)
    add = parser.add_argument
    add("--model", default="resnet50", help="any classifier of torchvision.models, by name")
    add("--batch-size", type=cli.positive, default=32, help="images of a step, on each device")
    add("--image-size", type=cli.positive, default=224, help="height and width, in pixels")
    add("--loader", choices=data.LOADERS, default="synthetic", help=LOADER_HELP)
    add("--num-workers", type=cli.natural, default=2, help="processes of the pytorch loader")
    add("--precision", choices=PRECISIONS, default="fp32", help=PRECISION_HELP)
    add("--channels-last", action="store_true", help="keep images as NHWC in memory")
    add("--steps", type=cli.positive, default=30, help="steps measured")
    add("--warmup", type=cli.natural, default=5, help="steps before them")
    add("--lr", type=cli.positive_float, default=0.01, help="learning rate of SGD")
    add("--seed", type=int, default=0, help="seed of weights and images")
    return parser


def model(args: argparse.Namespace, precision: Precision, device: torch.device) -> torch.nn.Module:
    """The classifier with random weights, on the device; ``Refusal`` for an unknown name."""
    known = models.list_models(module=models)
    if args.model not in known:
        raise Refusal(cli.unknown("model", args.model, known))
    torch.backends.cudnn.benchmark = True  # the shapes never change
    torch.manual_seed(args.seed)
    made: torch.nn.Module = models.get_model(args.model, weights=None, **_settings(args))
    return made.to(device, precision.dtype, memory_format=memory_format(args))


def batches(args: argparse.Namespace, precision: Precision, group: Group) -> Iterator[data.Batch]:
    """Endless batches of images and labels, as the options want them."""
    length = args.batch_size * group.world_size * (args.warmup + args.steps)
    images = data.Images(length, args.image_size, CLASSES, args.seed)
    place = data.Placement(group.device, precision.dtype, memory_format(args))
    if args.loader == "pytorch":
        return data.loaded(images, args.batch_size, group, place, args.num_workers)
    return data.synthetic(images, args.batch_size, group, place)


def memory_format(args: argparse.Namespace) -> torch.memory_format:
    """The order of the dimensions in memory."""
    return torch.channels_last if args.channels_last else torch.contiguous_format


def _settings(args: argparse.Namespace) -> dict[str, object]:
    """What some classifiers need so that they take our images and give one output."""
    settings: dict[str, object] = {"num_classes": CLASSES}
    if args.model in ("googlenet", "inception_v3"):
        settings |= {"aux_logits": False, "init_weights": True}
    if args.model.startswith("vit_"):
        settings["image_size"] = args.image_size
    return settings
