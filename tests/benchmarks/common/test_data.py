from itertools import islice

import torch
from common.data import Images, Placement, loaded, synthetic
from common.group import Group

CPU = torch.device("cpu")
PLACE = Placement(CPU)


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def ranks(n):
    return [Group(CPU, rank, n, rank) for rank in range(n)]


def test_images_are_seeded_and_look_normalised():
    images = Images(8, 16, classes=10, seed=1)
    assert same(images[3], Images(8, 16, classes=10, seed=1)[3])
    assert not same(images[3], images[4])
    assert not same(images[3], Images(8, 16, classes=10, seed=2)[3])
    pixels, label = Images(1, 256, classes=10, seed=0)[0]
    assert pixels.shape == (3, 256, 256)
    assert abs(float(pixels.mean())) < 0.02
    assert abs(float(pixels.std()) - 1) < 0.02
    assert 0 <= int(label) < 10


def test_synthetic_batches_repeat_and_differ_between_ranks():
    images = Images(8, 16, classes=10, seed=1)
    first, second = (list(islice(synthetic(images, 4, group, PLACE), 4)) for group in ranks(2))
    assert same(first[0], first[2])
    assert not same(first[0], first[1])
    assert not same(first[0], second[0])
    again = next(synthetic(images, 4, ranks(2)[0], PLACE))
    assert same(first[0], again)


def test_a_loader_gives_each_rank_its_share_and_does_not_end():
    images = Images(16, 8, classes=1000, seed=1)
    first, second = (list(islice(loaded(images, 4, group, PLACE, 0), 5)) for group in ranks(2))
    epoch = {tuple(p.flatten()[:9].tolist()) for b in first[:2] + second[:2] for p in b[0]}
    assert len(epoch) == 16  # two batches of 4 on two ranks: every image, once
    assert not same(first[0], first[2])  # the next epoch is in another order


def test_batches_come_in_the_form_that_was_asked_for():
    place = Placement(CPU, torch.bfloat16, torch.channels_last)
    images = Images(8, 8, classes=10, seed=1)
    for source in (
        synthetic(images, 4, Group(CPU), place),
        loaded(images, 4, Group(CPU), place, 0),
    ):
        pixels, labels = next(source)
        assert pixels.dtype is torch.bfloat16
        assert pixels.is_contiguous(memory_format=torch.channels_last)
        assert labels.dtype is torch.int64
