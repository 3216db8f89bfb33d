from itertools import islice

import pytest
import torch

from benchmarks.common.data import Placement, Source, split
from benchmarks.common.failure import Refusal
from benchmarks.common.samples import Images

CPU = torch.device("cpu")
PLACE = Placement(CPU)


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def source(images, loader, place=PLACE, ranks=2):
    return Source(images, 4, place, ranks, loader, 0, images.seed)


def test_a_fixed_batch_is_one_and_synthetic_ones_take_turns():
    images = Images(32, 16, classes=10, seed=1)
    fixed = list(islice(source(images, "fixed").stream(0, 2), 3))
    assert same(fixed[0], fixed[1])
    turns = list(islice(source(images, "synthetic").stream(0, 2), 3))
    assert same(turns[0], turns[2])
    assert not same(turns[0], turns[1])


@pytest.mark.parametrize("loader", ["fixed", "synthetic"])
def test_replicas_have_batches_of_their_own(loader):
    images = Images(32, 16, classes=10, seed=1)
    first, second = (next(source(images, loader).stream(rank, 2)) for rank in range(2))
    assert not same(first, second)
    assert same(first, next(source(images, loader).stream(0, 2)))


def test_batches_by_number_are_different_ones():
    images = Images(32, 8, classes=1000, seed=1)
    batches = [source(images, "fixed").batch(step, rank) for step in range(4) for rank in range(2)]
    seen = {tuple(p.flatten()[:9].tolist()) for pixels, _ in batches for p in pixels}
    assert len(seen) == 32


def test_a_loader_gives_each_replica_its_share_and_does_not_end():
    images = Images(16, 8, classes=1000, seed=1)
    loaders = [source(images, "pytorch").stream(rank, 2) for rank in range(2)]
    first, second = (list(islice(loader, 5)) for loader in loaders)
    epoch = {tuple(p.flatten()[:9].tolist()) for b in first[:2] + second[:2] for p in b[0]}
    assert len(epoch) == 16  # two batches of 4 of two replicas: every image, once
    assert not same(first[0], first[2])  # the next epoch is in another order


def test_an_epoch_without_a_whole_step_is_refused_and_not_waited_for():
    images = Images(7, 8, classes=10, seed=1)
    with pytest.raises(Refusal, match=r"^a step needs 8 samples, one epoch has 7$"):
        source(images, "pytorch").stream(0, 2)


@pytest.mark.parametrize("loader", ["fixed", "synthetic", "pytorch"])
def test_batches_come_in_the_form_that_was_asked_for(loader):
    place = Placement(CPU, torch.bfloat16, torch.channels_last)
    images = Images(8, 8, classes=10, seed=1)
    pixels, labels = next(source(images, loader, place, ranks=1).stream(0, 1))
    assert pixels.dtype is torch.bfloat16
    assert pixels.is_contiguous(memory_format=torch.channels_last)
    assert labels.dtype is torch.int64


def test_split():
    batch = torch.arange(6), torch.arange(12).view(6, 2)
    parts = split(batch, 3)
    assert [len(part[0]) for part in parts] == [2, 2, 2]
    assert same([torch.cat(tensors) for tensors in zip(*parts, strict=True)], batch)
