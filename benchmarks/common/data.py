"""Seeded data, made and not downloaded.

Every source is endless: a program asks for as many batches as it measures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from common.group import Group

LOADERS = ("synthetic", "pytorch")
FIXED = 2  # batches of the synthetic loader; they stay on the device

Batch = tuple[torch.Tensor, torch.Tensor]


class Images(Dataset[Batch]):
    """``length`` random images and labels; an index and the seed say which."""

    def __init__(self, length: int, size: int, classes: int, seed: int) -> None:
        """Images of 3 x size x size, labels below ``classes``."""
        self.length, self.size, self.classes, self.seed = length, size, classes, seed

    def __len__(self) -> int:
        """The number of images."""
        return self.length

    def __getitem__(self, index: int) -> Batch:
        """A float image of mean 0 and deviation 1, as after the usual transforms, and a label."""
        if not 0 <= index < self.length:
            raise IndexError(index)
        chance = torch.Generator().manual_seed(self.seed * self.length + index)
        pixels = torch.randint(256, (3, self.size, self.size), generator=chance, dtype=torch.uint8)
        label = torch.randint(self.classes, (), generator=chance)
        return pixels.float().sub_(127.5).div_(73.9), label  # uniform bytes: deviation 73.9


@dataclass(frozen=True)
class Placement:
    """Where a program wants its batches, and in which form."""

    device: torch.device
    dtype: torch.dtype = torch.float32
    memory_format: torch.memory_format = torch.contiguous_format

    def __call__(self, batch: Batch) -> Batch:
        """The batch there; queued, where the device works behind the host."""
        pixels, labels = batch
        return (
            pixels.to(self.device, self.dtype, memory_format=self.memory_format, non_blocking=True),
            labels.to(self.device, non_blocking=True),
        )


def synthetic(images: Images, batch_size: int, group: Group, place: Placement) -> Iterator[Batch]:
    """The same few batches of this rank, over and over, without a loader's work."""
    chance = torch.Generator().manual_seed(images.seed * group.world_size + group.rank)
    shape = (batch_size, 3, images.size, images.size)
    fixed = [
        (
            torch.randn(shape, generator=chance),
            torch.randint(images.classes, (batch_size,), generator=chance),
        )
        for _ in range(FIXED)
    ]
    return cycle([place(batch) for batch in fixed])


def loaded(
    images: Images, batch_size: int, group: Group, place: Placement, workers: int
) -> Iterator[Batch]:
    """Batches of a PyTorch ``DataLoader`` in ``workers`` processes, copied to the device.

    Each rank reads its own share of the images, shuffled anew in every epoch.
    """
    sampler: DistributedSampler[Batch] = DistributedSampler(
        images, group.world_size, group.rank, shuffle=True, seed=images.seed, drop_last=True
    )
    loader = DataLoader(
        images,
        batch_size,
        sampler=sampler,
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=place.device.type != "cpu",
        drop_last=True,
    )
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from map(place, loader)
        epoch += 1
