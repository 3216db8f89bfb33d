"""A model and its loss, in the form that the strategies need; its blocks and their division."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor.parallel import ParallelStyle

# Writes the values of a parameter: (its name, the tensor, a seeded generator).
Fill = Callable[[str, Tensor, torch.Generator], None]
Batch = Any  # the workload's loss takes it; for pipelines it is (inputs, targets)


@dataclass(frozen=True)
class Workload:
    """A model and its loss, independent of how the model is spread over devices."""

    make_model: Callable[[], nn.Module]  # random weights, seeded by the caller
    loss: Callable[[nn.Module, Batch], Tensor]  # forward and mean loss of one (micro)batch
    blocks: Callable[[nn.Module], Sequence[nn.Module]]  # the repeated blocks
    split: Callable[[Batch, int], list[Batch]]  # a batch into n microbatches
    # What is sharded by itself before and behind the blocks, as an embedding and a head.
    ends: Callable[[nn.Module], Sequence[nn.Module]] = lambda _: ()
    # The model cut into n sequential stages balanced by parameters, and the loss of the output of
    # the last; None: the model cannot be cut.
    stages: Callable[[nn.Module, int], list[nn.Module]] | None = None
    stage_loss: Callable[[Tensor, Batch], Tensor] | None = None
    # Fills a parameter that was built without memory, on the device "meta"; None: the model is
    # built with its values. No two modules may share a parameter.
    fill: Fill | None = None
    # How tensor parallelism shards it; None: not supported.
    tp_plan: Callable[[nn.Module], Mapping[str, ParallelStyle]] | None = None


def repeated_blocks(model: nn.Module) -> list[nn.Module]:
    """The outermost modules in a ``Sequential`` or ``ModuleList`` that have modules themselves."""
    found: list[nn.Module] = []
    for child in model.children():
        in_list = type(model) in (nn.Sequential, nn.ModuleList)
        if in_list and type(child) is not nn.Sequential and any(child.children()):
            found.append(child)
        else:
            found += repeated_blocks(child)
    return found


def misaligned(**widths: int) -> dict[str, str]:
    """The fact ``misaligned`` of a model: which widths are not multiples of 8; empty without one.

    Kernels for numbers of 16 bits load 16 bytes at a time: they pad such heads, and multiply such
    matrices more slowly.
    """
    odd = [f"{name} {width}" for name, width in widths.items() if width % 8]
    return {"misaligned": ", ".join(odd)} if odd else {}


def balanced_cuts(sizes: Sequence[int], count: int) -> list[int]:
    """Cut ``sizes`` into ``count`` non-empty runs, so that the largest sum is as small as possible.

    Returns the bounds of the runs, from 0 to the number of sizes. ``count`` is at most that number.
    """
    low, high = max(sizes), sum(sizes)
    while low < high:  # bisection: whether runs of at most ``middle`` suffice
        middle = (low + high) // 2
        if len(_greedy_cuts(sizes, middle)) - 1 <= count:
            high = middle
        else:
            low = middle + 1
    cuts = _greedy_cuts(sizes, low)
    for end in range(len(sizes) - 1, 0, -1):  # too few runs: cut off single sizes from the end
        if len(cuts) - 1 == count:
            break
        if end not in cuts:
            cuts = sorted([*cuts, end])
    return cuts


def _greedy_cuts(sizes: Sequence[int], limit: int) -> list[int]:
    """Cuts of the runs if each is filled, one after the other, to at most ``limit``."""
    cuts, filled = [0], 0
    for k, size in enumerate(sizes):
        if filled + size > limit:
            cuts.append(k)
            filled = 0
        filled += size
    return [*cuts, len(sizes)]
