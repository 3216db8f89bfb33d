import pytest
import torch
from PIL import Image

from benchmarks.common.failure import Refusal
from benchmarks.common.samples import Images, Pairs, Tokens, folder


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


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
    pixels, label = Images(1, 256, classes=10, seed=0)[0]
    assert pixels.shape == (3, 256, 256)
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
    images = folder(tmp_path, 8, classes=1000)
    assert len(images) == 2
    pixels, label = images[1]
    assert pixels.shape == (3, 8, 8)
    assert label == 1
    with pytest.raises(Refusal, match=r"2 classes, the model has 1$"):
        folder(tmp_path, 8, classes=1)


def test_a_folder_that_was_not_named():
    with pytest.raises(Refusal, match=r"^--loader image-folder needs --data FOLDER$"):
        folder(None, 8, 10)


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(
        Refusal, match=r"/none: there is no such folder \(`milabench prepare` makes"
    ):
        folder(tmp_path / "none", 8, 10)


@pytest.mark.parametrize("inside", [(), ("cat",)])
def test_a_folder_without_images(tmp_path, inside):
    for name in inside:
        (tmp_path / name).mkdir()
    with pytest.raises(Refusal, match=r"--data .*: (Couldn't find any class|Found no valid file)"):
        folder(tmp_path, 8, 10)
