import argparse
from itertools import islice

import pytest
import torch
from PIL import Image

from benchmarks.common import cli, data, strategies, training
from benchmarks.common.data import (
    Images,
    Pairs,
    Placement,
    Source,
    Tokens,
    image_folder,
    split_batch,
)
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group

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
    with pytest.raises(UnsupportedError, match=r"^a step needs 8 samples, one epoch has 7$"):
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
    parts = split_batch(batch, 3)
    assert [len(part[0]) for part in parts] == [2, 2, 2]
    assert same([torch.cat(tensors) for tensors in zip(*parts, strict=True)], batch)


CPU = torch.device("cpu")


def parsed(*argv):
    parser = cli.parser("")
    training.add_options(parser, steps=3, warmup=2, batch_size=4)
    strategies.add_options(parser)
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
    assert data.loader_of(parsed(*argv)) == loader


def test_a_loader_that_the_trainer_does_not_have():
    with pytest.raises(
        UnsupportedError, match=r"^--loader pytorch is for --trainer e2e, not core$"
    ):
        data.loader_of(parsed("--trainer", "core", "--loader", "pytorch"))


def test_enough_samples_for_every_step():
    counted = argparse.Namespace(batch_size=4, warmup=2, steps=3, seconds=None)
    assert data.sample_count(counted, 2) == 40
    timed = argparse.Namespace(batch_size=4, warmup=2, steps=3, seconds=30.0)
    assert data.sample_count(timed, 2) >= 1_000_000


def test_batches_are_as_the_options_say():
    images = Images(64, 8, classes=10, seed=1)
    args = parsed("--precision", "bf16", "--trainer", "e2e", "--num-workers", "0")
    source = data.source(args, images, Group(CPU, 1, 2), torch.channels_last)
    pixels, _ = next(source.stream(1, 2))
    assert pixels.shape == (4, 3, 8, 8)
    assert pixels.dtype is torch.bfloat16
    assert pixels.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("kind", [Images, Tokens, Pairs])
def test_an_index_and_the_seed_say_which(kind):
    samples = kind(8, 16, 1000, seed=1)
    assert len(samples) == 8
    assert same(samples[3], kind(8, 16, 1000, seed=1)[3])
    assert not same(samples[3], samples[4])
    assert not same(samples[3], kind(8, 16, 1000, seed=2)[3])
    with pytest.raises(IndexError):
        samples[8]


def test_images_look_normalised():
    sample, label = Images(1, 256, classes=10, seed=0)[0]
    assert (sample.shape, sample.dtype) == ((3, 256, 256), torch.uint8)
    (pixels,) = PLACE((sample[None],))
    by_hand = sample[None].float().sub_(127.5).div_(73.9)  # on the host, in fp32
    assert torch.equal(pixels, by_hand)
    assert abs(float(pixels.mean())) < 0.02
    assert abs(float(pixels.std()) - 1) < 0.02
    assert 0 <= int(label) < 10


def test_tokens_are_followed_by_their_targets():
    words, targets = Tokens(2, 32, 100, seed=0)[1]
    assert words.shape == targets.shape == (32,)
    assert torch.equal(words[1:], targets[:-1])
    assert 0 <= int(words.min()) <= int(words.max()) < 100


@pytest.mark.parametrize("below", ["", "train"])
def test_a_folder_of_images(tmp_path, below):
    for label in ("cat", "dog"):
        place = tmp_path / below / label
        place.mkdir(parents=True)
        Image.new("RGB", (20, 30), "red").save(place / "1.jpg")
    images = image_folder(tmp_path, 8, classes=1000)
    assert len(images) == 2
    pixels, label = images[1]
    assert (pixels.shape, pixels.dtype, label) == ((3, 8, 8), torch.uint8, 1)
    args = parsed("--num-workers", "0", "--batch-size", "2")
    args.loader = "image-folder"
    batch, _ = next(data.source(args, images, Group(CPU)).stream(0, 1))
    red = [(254, 0.485, 0.229), (0, 0.456, 0.224), (0, 0.406, 0.225)]  # JPEG's red; of 0 to 1
    expected = [(value / 255 - mean) / deviation for value, mean, deviation in red]
    assert batch.mean((0, 2, 3)).tolist() == pytest.approx(expected, abs=1e-5)
    with pytest.raises(UnsupportedError, match=r"2 classes, the model has 1$"):
        image_folder(tmp_path, 8, classes=1)


def test_a_folder_that_was_not_named():
    with pytest.raises(UnsupportedError, match=r"^--loader image-folder needs --data FOLDER$"):
        image_folder(None, 8, 10)


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(
        UnsupportedError, match=r"/none: no such folder \(`milabench prepare` makes"
    ):
        image_folder(tmp_path / "none", 8, 10)


@pytest.mark.parametrize("inside", [(), ("cat",)])
def test_a_folder_without_images(tmp_path, inside):
    for name in inside:
        (tmp_path / name).mkdir()
    with pytest.raises(
        UnsupportedError, match=r"--data .*: (Couldn't find any class|Found no valid file)"
    ):
        image_folder(tmp_path, 8, 10)
