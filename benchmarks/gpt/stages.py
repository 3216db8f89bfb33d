"""A GPT cut into stages that follow each other, balanced by their parameters."""

from itertools import pairwise

from torch import nn

from benchmarks.common.balance import balanced
from benchmarks.common.failure import Refusal
from benchmarks.gpt.model import GPT, Shape


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
    cuts = balanced(sizes, count)
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
    cuts = balanced(sizes, min(count, len(sizes)))
    return max(sum(sizes[a:b]) for a, b in pairwise(cuts))
