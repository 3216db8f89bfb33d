"""Seeded samples, made and not downloaded (an index and the seed say which); a folder of images."""

from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from benchmarks.common.failure import Refusal

Sample = tuple[torch.Tensor, ...]
# Of the images of ImageNet, as every classifier of torchvision expects them.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Images(Dataset[Sample]):
    """``length`` random images and labels."""

    def __init__(self, length: int, size: int, classes: int, seed: int) -> None:
        """Images of 3 x size x size, labels below ``classes``."""
        self.length, self.size, self.classes, self.seed = length, size, classes, seed

    def __len__(self) -> int:
        """The number of images."""
        return self.length

    def __getitem__(self, index: int) -> Sample:
        """A float image of mean 0 and deviation 1, as after the usual transforms, and a label."""
        chance = _chance(self, index)
        pixels = torch.randint(256, (3, self.size, self.size), generator=chance, dtype=torch.uint8)
        label = torch.randint(self.classes, (), generator=chance)
        return pixels.float().sub_(127.5).div_(73.9), label  # uniform bytes: deviation 73.9


class Tokens(Dataset[Sample]):
    """``length`` sequences of random tokens, and the token that follows each."""

    def __init__(self, length: int, tokens: int, vocabulary: int, seed: int) -> None:
        """Sequences of ``tokens`` tokens below ``vocabulary``."""
        self.length, self.tokens, self.vocabulary, self.seed = length, tokens, vocabulary, seed

    def __len__(self) -> int:
        """The number of sequences."""
        return self.length

    def __getitem__(self, index: int) -> Sample:
        """The tokens, and the same moved by one: the targets of a language model."""
        words = torch.randint(self.vocabulary, (self.tokens + 1,), generator=_chance(self, index))
        return words[:-1], words[1:]


class Pairs(Tokens):
    """``length`` pairs of unrelated sequences: what an encoder reads, what a decoder writes."""

    def __getitem__(self, index: int) -> Sample:
        """The first sequence, and the second."""
        words = torch.randint(self.vocabulary, (2, self.tokens), generator=_chance(self, index))
        return words[0], words[1]


def folder(path: Path | None, size: int, classes: int) -> Dataset[Any]:
    """The images under ``path``/<class>/ (or ``path``/train/<class>/), cropped as in training.

    A random crop of ``size`` pixels, mirrored half of the time, of ImageNet's mean and deviation.
    ``Refusal`` where there is none, or more classes than ``classes``.
    """
    from torchvision import datasets, transforms

    if path is None:
        raise Refusal("--loader image-folder needs --data FOLDER")
    if not path.is_dir():
        raise Refusal(f"--data {path}: there is no such folder (`milabench prepare` makes data)")
    train = path / "train"
    steps = [
        transforms.RandomResizedCrop(size),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION),
    ]
    try:
        found = datasets.ImageFolder(train if train.is_dir() else path, transforms.Compose(steps))
    except FileNotFoundError as error:  # no class, or a class without an image
        raise Refusal(f"--data {path}: {str(error).splitlines()[0]}") from error
    if len(found.classes) > classes:
        raise Refusal(f"--data {path}: {len(found.classes)} classes, the model has {classes}")
    return found


def _chance(samples: Images | Tokens, index: int) -> torch.Generator:
    if not 0 <= index < samples.length:
        raise IndexError(index)
    return torch.Generator().manual_seed(samples.seed * samples.length + index)
