"""Batches for a training program: made once and kept on the device, or loaded like real data.

A batch is a tuple of tensors, the targets last. Every source is endless: a program asks for as many
batches as it measures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, default_collate

from benchmarks.common.failure import Refusal

FIXED = 2  # batches that `synthetic` cycles through
CORE, E2E = ("fixed", "synthetic"), ("pytorch", "image-folder")
LOADERS = CORE + E2E

Batch = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Placement:
    """Where a program wants its batches, and in which form."""

    device: torch.device
    dtype: torch.dtype = torch.float32  # of what is no integer
    memory_format: torch.memory_format = torch.contiguous_format  # of images

    def __call__(self, batch: Batch) -> Batch:
        """The batch there; queued, where the device works behind the host."""
        return tuple(self._placed(tensor) for tensor in batch)

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self.dtype if tensor.is_floating_point() else tensor.dtype
        form = self.memory_format if tensor.dim() == 4 else torch.preserve_format
        return tensor.to(self.device, dtype, memory_format=form, non_blocking=True)


@dataclass(frozen=True)
class Source:
    """The batches of every replica, out of one dataset that all ranks can read.

    ``ranks`` is an upper bound of the number of replicas; ``loader`` is one of ``LOADERS``.
    """

    dataset: Dataset[Any]
    batch_size: int
    place: Placement
    ranks: int = 1
    loader: str = "fixed"
    workers: int = 0
    seed: int = 0

    def batch(self, step: int, replica: int) -> Batch:
        """One batch by its number, on this rank's device: other than that of any other replica."""
        first = (step * self.ranks + replica) * self.batch_size
        length = len(self.dataset)  # type: ignore[arg-type]
        samples = [self.dataset[k % length] for k in range(first, first + self.batch_size)]
        return self.place(tuple(default_collate(samples)))

    def stream(self, replica: int, replicas: int) -> Iterator[Batch]:
        """The batches of one replica, without end.

        ``fixed``: one, on the device; ``synthetic``: a few of them, in turn; else those of a
        ``DataLoader`` in ``workers`` processes, copied to the device one by one.
        """
        if self.loader in CORE:
            count = FIXED if self.loader == "synthetic" else 1
            return cycle([self.batch(step, replica) for step in range(count)])
        least, length = self.batch_size * replicas, len(self.dataset)  # type: ignore[arg-type]
        if length < least:
            raise Refusal(f"a step needs {least} samples, one epoch has {length}")
        return self._loaded(replica, replicas)

    def _loaded(self, replica: int, replicas: int) -> Iterator[Batch]:
        """Each replica reads its own share of the samples, shuffled anew in every epoch."""
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


def split(batch: Batch, parts: int) -> list[Batch]:
    """The batch in equal parts."""
    return list(zip(*(tensor.chunk(parts) for tensor in batch), strict=True))
