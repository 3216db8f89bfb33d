import argparse

import pytest
import torch

from benchmarks.common import cli, loading, trainer
from benchmarks.common.failure import Refusal
from benchmarks.common.group import Group
from benchmarks.common.samples import Images

CPU = torch.device("cpu")


def parsed(*argv):
    parser = cli.parser("")
    trainer.add_options(parser, steps=3, warmup=2, batch_size=4)
    return parser.parse_args(argv)


@pytest.mark.parametrize(
    ("argv", "loader"),
    [
        ((), "fixed"),
        (("--trainer", "core"), "fixed"),
        (("--trainer", "e2e"), "pytorch"),
        (("--loader", "pytorch"), "pytorch"),
    ],
)
def test_which_loader_a_trainer_means(argv, loader):
    assert loading.loader(parsed(*argv)) == loader


def test_a_loader_that_the_trainer_does_not_have():
    with pytest.raises(Refusal, match=r"^--loader pytorch is for --trainer e2e, not core$"):
        loading.loader(parsed("--trainer", "core", "--loader", "pytorch"))


def test_enough_samples_for_every_step():
    assert loading.samples(argparse.Namespace(batch_size=4, warmup=2, steps=3), 2) == 40


def test_batches_are_as_the_options_say():
    images = Images(64, 8, classes=10, seed=1)
    args = parsed("--precision", "bf16", "--trainer", "e2e", "--num-workers", "0")
    source = loading.source(args, images, Group(CPU, 1, 2), torch.channels_last)
    pixels, _ = next(source.stream(1, 2))
    assert pixels.shape == (4, 3, 8, 8)
    assert pixels.dtype is torch.bfloat16
    assert pixels.is_contiguous(memory_format=torch.channels_last)
