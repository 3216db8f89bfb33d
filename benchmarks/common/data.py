"""Batches for a training program: made once and kept on the device, or loaded as in real training.

A batch is a tuple of tensors, the targets last. Samples are drawn from a seed, not downloaded; only
``image_folder`` reads files. Every source is endless: a program takes as many batches as it
measures.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, default_collate

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies.batches import replica_batch, replica_ranks

PREFETCHED = 2  # batches that each worker of a DataLoader holds, by torch's default
SYNTHETIC_BATCHES = 2  # `synthetic` alternates between them
CORE, E2E = ("fixed", "synthetic"), ("pytorch", "image-folder")
LOADERS = {
    "fixed": "one batch",
    "synthetic": "two batches in turn",
    "pytorch": "a DataLoader of random samples",
    "image-folder": "a DataLoader of the images in --data",
}
IMAGENET = 1_281_167  # samples
Colours = tuple[float, ...]  # one for each channel, or one for all
# Mean and deviation of the bytes of ImageNet's images, which every classifier of torchvision
# expects; and of random bytes.
MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
RANDOM_MEAN, RANDOM_DEVIATION = (127.5,), (73.9,)

Sample = tuple[torch.Tensor, ...]
Batch = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Placement:
    """The device, the type and the memory format of a program's batches.

    Images come as bytes, a quarter of what they take in fp32, and are normalised on the device.
    """

    device: torch.device
    dtype: torch.dtype = torch.float32  # of floating-point tensors
    memory_format: torch.memory_format = torch.contiguous_format  # of images
    mean: Colours = RANDOM_MEAN
    deviation: Colours = RANDOM_DEVIATION

    def __call__(self, batch: Batch) -> Batch:
        return tuple(self._placed(tensor.to(self.device, non_blocking=True)) for tensor in batch)

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype == torch.uint8:
            mean, deviation = self._colours
            pixels = tensor.contiguous(memory_format=self.memory_format).float()
            tensor = pixels.sub_(mean).div_(deviation)
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    @cached_property
    def _colours(self) -> tuple[torch.Tensor, torch.Tensor]:
        """On the device once: a tensor made of numbers of the host waits for it."""
        both = self.mean, self.deviation
        mean, deviation = (torch.tensor(c, device=self.device).view(1, -1, 1, 1) for c in both)
        return mean, deviation


@dataclass(frozen=True)
class Source:
    """The batches of every replica, from one dataset that all ranks can read.

    ``batch_size`` is that of a replica; ``loader`` is one of ``LOADERS``.
    """

    dataset: Dataset[Any]
    batch_size: int
    place: Placement
    replicas: int = 1
    loader: str = "fixed"
    workers: int = 0
    seed: int = 0

    def batch(self, step: int, replica: int) -> Batch:
        """The batch of one replica in one step, on this rank's device; no other replica has it."""
        first = (step * self.replicas + replica) * self.batch_size
        length = len(self.dataset)  # type: ignore[arg-type]
        samples = [self.dataset[k % length] for k in range(first, first + self.batch_size)]
        return self.place(tuple(default_collate(samples)))

    def stream(self, replica: int, replicas: int) -> Iterator[Batch]:
        """The batches of one replica, without end.

        ``fixed``: one batch, on the device; ``synthetic``: a few batches in turn; else the batches
        of a ``DataLoader`` with ``workers`` processes, each copied to the device.
        """
        if self.loader in CORE:
            count = SYNTHETIC_BATCHES if self.loader == "synthetic" else 1
            return cycle([self.batch(step, replica) for step in range(count)])
        needed, length = self.batch_size * replicas, len(self.dataset)  # type: ignore[arg-type]
        if length < needed:
            raise UnsupportedError(f"a step needs {needed} samples, one epoch has {length}")
        return self._loaded(replica, replicas)

    def _loaded(self, replica: int, replicas: int) -> Iterator[Batch]:
        sampler: DistributedSampler[Batch] = DistributedSampler(
            self.dataset, replicas, replica, shuffle=True, seed=self.seed, drop_last=True
        )
        loader: DataLoader[Batch] = DataLoader(
            self.dataset,
            self.batch_size,
            sampler=sampler,
            num_workers=self.workers,
            persistent_workers=self.workers > 0,
            pin_memory=self.place.device.type != "cpu",
            drop_last=True,
        )
        epoch = 0
        while True:
            sampler.set_epoch(epoch)
            yield from map(self.place, loader)
            epoch += 1


def source(
    args: argparse.Namespace,
    dataset: Dataset[Any],
    group: Group,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> Source:
    """The batches of ``dataset`` in the precision of the program; each replica has its own."""
    loader = loader_of(args)
    colours = (MEAN, DEVIATION) if loader == "image-folder" else (RANDOM_MEAN, RANDOM_DEVIATION)
    return Source(
        dataset,
        replica_batch(args, group.world_size),
        Placement(group.device, PRECISIONS[args.precision].dtype, memory_format, *colours),
        group.world_size // replica_ranks(args, group.world_size),
        loader,
        args.num_workers,
        args.seed,
    )


def loader_of(args: argparse.Namespace) -> str:
    """The loader that ``--trainer`` and ``--loader`` choose.

    Raises ``UnsupportedError`` if the two contradict each other.
    """
    if args.loader is None:
        return "pytorch" if args.trainer == "e2e" else "fixed"
    trainer = "e2e" if args.loader in E2E else "core"
    if args.trainer not in (None, trainer):
        raise UnsupportedError(
            f"--loader {args.loader} is for --trainer {trainer}, not {args.trainer}"
        )
    return str(args.loader)


def shared_bytes(args: argparse.Namespace) -> int:
    """The shared memory that the loader of a process takes; 0 for tokens, which are small."""
    if loader_of(args) not in E2E or "image_size" not in args:
        return 0
    image = Images(1, args.image_size, classes=1, seed=0)[0]
    held = args.num_workers * PREFETCHED * args.batch_size
    return int(held * sum(part.nbytes for part in image))


def sample_count(args: argparse.Namespace, ranks: int) -> int:
    """The number of samples of an epoch: enough for no step to see one twice.

    With ``--seconds`` the number of steps is not known yet: as many as ImageNet has, at least.
    """
    count = int(args.batch_size * ranks * (args.warmup + args.steps))
    return max(count, IMAGENET) if args.seconds else count


def split_batch(batch: Batch, parts: int) -> list[Batch]:
    return list(zip(*(tensor.chunk(parts) for tensor in batch), strict=True))


class Images(Dataset[Sample]):
    """``length`` random images, as bytes, and labels."""

    def __init__(self, length: int, size: int, classes: int, seed: int) -> None:
        self.length, self.size, self.classes, self.seed = length, size, classes, seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Sample:
        generator = _generator(self, index)
        shape = (3, self.size, self.size)
        pixels = torch.randint(256, shape, generator=generator, dtype=torch.uint8)
        return pixels, torch.randint(self.classes, (), generator=generator)


class Tokens(Dataset[Sample]):
    """``length`` sequences of random tokens, and the token that follows each."""

    def __init__(self, length: int, tokens: int, vocabulary: int, seed: int) -> None:
        self.length, self.tokens, self.vocabulary, self.seed = length, tokens, vocabulary, seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Sample:
        shape, generator = (self.tokens + 1,), _generator(self, index)
        words = torch.randint(self.vocabulary, shape, generator=generator)
        return words[:-1], words[1:]


class Pairs(Tokens):
    """``length`` pairs of unrelated sequences: input of an encoder, output of a decoder."""

    def __getitem__(self, index: int) -> Sample:
        shape, generator = (2, self.tokens), _generator(self, index)
        words = torch.randint(self.vocabulary, shape, generator=generator)
        return words[0], words[1]


def image_folder(path: Path | None, size: int, classes: int) -> Dataset[Any]:
    """The images under ``path``/<class>/ (or ``path``/train/<class>/), cropped as in training.

    Each is a random crop of ``size`` pixels, as bytes, mirrored half of the time. Raises
    ``UnsupportedError`` if there is no image, or if there are more classes than ``classes``.
    """
    from torchvision import datasets, transforms

    if path is None:
        raise UnsupportedError("--loader image-folder needs --data FOLDER")
    if not path.is_dir():
        raise UnsupportedError(f"--data {path}: no such folder (`milabench prepare` makes data)")
    train = path / "train"
    steps = [
        transforms.RandomResizedCrop(size),
        transforms.RandomHorizontalFlip(),
        transforms.PILToTensor(),
    ]
    try:
        found = datasets.ImageFolder(train if train.is_dir() else path, transforms.Compose(steps))
    except FileNotFoundError as error:  # no class, or a class without an image
        raise UnsupportedError(f"--data {path}: {str(error).splitlines()[0]}") from error
    if len(found.classes) > classes:
        raise UnsupportedError(
            f"--data {path}: {len(found.classes)} classes, the model has {classes}"
        )
    return found


def _generator(samples: Images | Tokens, index: int) -> torch.Generator:
    if not 0 <= index < samples.length:
        raise IndexError(index)
    return torch.Generator().manual_seed(samples.seed * samples.length + index)
