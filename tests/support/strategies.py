"""A small model and its batches, to train with every strategy."""

import argparse
from functools import partial

import torch

from benchmarks.common import correctness, data, strategies
from benchmarks.common.workload import Workload
from benchmarks.gpt import model as gpt
from benchmarks.gpt import stages

SHAPE = gpt.Shape(layers=3, heads=4, width=32, vocabulary=64, block=16)
BATCH = 8


def option_parser():
    parser = argparse.ArgumentParser()
    strategies.add_options(parser)
    correctness.add_options(parser)
    parser.set_defaults(precision="fp32", batch_size=BATCH, lr=0.1, seed=0)
    return parser


def workload(args):
    return Workload(
        make_model=partial(gpt.make, SHAPE),
        loss=gpt.loss,
        blocks=gpt.blocks_of,
        ends=gpt.ends_of,
        split=data.split_batch,
        stages=stages.stages,
        stage_loss=gpt.stage_loss,
        fill=gpt.fill,
        tp_plan=partial(gpt.tp_plan, sequence=args.sequence_parallel),
    )


def batch(step, replica):
    generator = torch.Generator().manual_seed(100 * step + replica)
    words = torch.randint(SHAPE.vocabulary, (BATCH, SHAPE.block + 1), generator=generator)
    return words[:, :-1].contiguous(), words[:, 1:].contiguous()


def options(argv, **settings):
    parser = argparse.ArgumentParser()
    strategies.add_options(parser)
    settings = {"precision": "fp32", "batch_size": 8, "lr": 0.1, "seed": 0} | settings
    return argparse.Namespace(**vars(parser.parse_args(argv.split())) | settings)
