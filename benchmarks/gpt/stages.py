"""A GPT cut into stages that follow each other, balanced by their parameters."""

from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from benchmarks.common.failure import SkippedError
from benchmarks.common.workload import balanced_cuts
from benchmarks.gpt.model import GPT
from benchmarks.gpt.shapes import Shape


def stages(model: nn.Module, count: int) -> list[nn.Module]:
    """The model as ``count`` stages that follow each other, balanced by their parameters.

    The largest stage is as small as contiguous stages allow (``sequential_gpt`` of ptd_benchmark
    fills greedily, with the same aim). ``SkippedError`` if there are fewer layers than stages.
    """
    assert isinstance(model, GPT)
    assert model.embedding is not None
    assert model.head is not None
    parts = [model.embedding, *model.blocks.values(), model.head]
    sizes = [sum(p.numel() for p in part.parameters()) for part in parts]
    made: list[nn.Module] = []
    for first, end in pairwise(_cuts(sizes, count)):
        embedding = model.embedding if first == 0 else None
        head = model.head if end == len(parts) else None
        names = list(model.blocks)[max(first - 1, 0) : end - 1]
        blocks = {name: model.blocks[name] for name in names}
        made.append(GPT(embedding, blocks, head, model.rotation))
    return made


@dataclass(frozen=True)
class StageSize:
    """What a stage has."""

    parameters: int
    blocks: int


def stage_sizes(shape: Shape, count: int) -> list[StageSize]:
    """The sizes of ``count`` stages; ``SkippedError`` as for ``stages``."""
    first, last = shape.end_parameters
    sizes = [first, *[shape.block_parameters] * shape.layers, last]
    found = []
    for begin, end in pairwise(_cuts(sizes, count)):
        blocks = min(end, len(sizes) - 1) - max(begin, 1)
        found.append(StageSize(sum(sizes[begin:end]), blocks))
    return found


def _cuts(sizes: list[int], count: int) -> list[int]:
    if count > len(sizes):
        raise SkippedError(
            f"a model of {len(sizes) - 2} blocks, an embedding and a head cannot have {count} "
            f"stages"
        )
    return balanced_cuts(sizes, count)
