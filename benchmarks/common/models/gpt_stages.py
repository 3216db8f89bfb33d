"""A GPT cut into stages that follow each other, balanced by their parameters."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from common.failure import Refusal
from common.models.gpt import GPT, Shape


def stages(model: nn.Module, count: int) -> list[nn.Module]:
    """The model as ``count`` stages that follow each other, balanced by their parameters.

    The largest stage is as small as contiguous stages allow (``sequential_gpt`` of ptd_benchmark
    fills greedily, with the same aim). ``Refusal`` where there are fewer layers than stages.
    """
    assert isinstance(model, GPT)
    assert model.embedding is not None
    assert model.head is not None
    parts = [model.embedding, *model.blocks.values(), model.head]
    if count > len(parts):
        raise Refusal(
            f"a model of {len(model.blocks)} blocks, an embedding and a head has no {count} stages"
        )
    sizes = [sum(p.numel() for p in part.parameters()) for part in parts]
    cuts = _balanced(sizes, count)
    made: list[nn.Module] = []
    for first, end in pairwise(cuts):
        blocks = {
            name: block
            for k, (name, block) in enumerate(model.blocks.items(), 1)
            if first <= k < end
        }
        made.append(
            GPT(
                model.embedding if first == 0 else None,
                blocks,
                model.head if end == len(parts) else None,
            )
        )
    return made


def largest_stage(shape: Shape, count: int) -> int:
    """Parameters of the largest of ``count`` stages."""
    first, last = shape.end_parameters
    sizes = [first, *[shape.block_parameters] * shape.layers, last]
    cuts = _balanced(sizes, min(count, len(sizes)))
    return max(sum(sizes[a:b]) for a, b in pairwise(cuts))


def _balanced(sizes: Sequence[int], count: int) -> list[int]:
    """Where to cut ``sizes`` into ``count`` runs of at least one, so that the largest is least."""
    low, high = max(sizes), sum(sizes)
    while low < high:
        middle = (low + high) // 2
        if len(_filled(sizes, middle)) - 1 <= count:
            high = middle
        else:
            low = middle + 1
    cuts = _filled(sizes, low)
    for end in range(len(sizes) - 1, 0, -1):  # fewer runs than wanted: cut off single ones
        if len(cuts) - 1 == count:
            break
        if end not in cuts:
            cuts = sorted([*cuts, end])
    return cuts


def _filled(sizes: Sequence[int], most: int) -> list[int]:
    """Cuts of the runs that are filled one after the other to at most ``most``."""
    cuts, held = [0], 0
    for k, size in enumerate(sizes):
        if held + size > most:
            cuts.append(k)
            held = 0
        held += size
    return [*cuts, len(sizes)]
