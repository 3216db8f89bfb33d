"""What the options of a training program say of its data."""

import argparse
from typing import Any

import torch
from torch.utils.data import Dataset

from benchmarks.common import data
from benchmarks.common.data import Placement, Source
from benchmarks.common.failure import Refusal
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS


def loader(args: argparse.Namespace) -> str:
    """The loader that ``--trainer`` and ``--loader`` mean; ``Refusal`` where they disagree."""
    if args.loader is None:
        return "pytorch" if args.trainer == "e2e" else "fixed"
    trainer = "e2e" if args.loader in data.E2E else "core"
    if args.trainer not in (None, trainer):
        raise Refusal(f"--loader {args.loader} is for --trainer {trainer}, not {args.trainer}")
    return str(args.loader)


def samples(args: argparse.Namespace, ranks: int) -> int:
    """How many samples a dataset needs so that no step sees one twice."""
    return int(args.batch_size * ranks * (args.warmup + args.steps))


def source(
    args: argparse.Namespace,
    dataset: Dataset[Any],
    group: Group,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> Source:
    """The batches of ``dataset``, other ones for each replica, in the precision of the program."""
    place = Placement(group.device, PRECISIONS[args.precision].dtype, memory_format)
    return Source(
        dataset,
        args.batch_size,
        place,
        group.world_size,
        loader(args),
        args.num_workers,
        args.seed,
    )
