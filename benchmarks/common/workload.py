"""What a program trains, as the strategies need to know it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor.parallel import ParallelStyle

# The values of a parameter: (its name, where they go, where chance comes from).
Fill = Callable[[str, Tensor, torch.Generator], None]
Batch = Any  # whatever the workload's own loss understands; for pipelines (inputs, targets)


@dataclass(frozen=True)
class Workload:
    """A model and its loss, without a word about how it is spread over devices."""

    make_model: Callable[[], nn.Module]  # random weights, seeded by the caller
    loss: Callable[[nn.Module, Batch], Tensor]  # forward and mean loss of one (micro)batch
    blocks: Callable[[nn.Module], Sequence[nn.Module]]  # the repeated blocks
    split: Callable[[Batch, int], list[Batch]]  # a batch into n microbatches
    # The model cut into n sequential stages balanced by parameters, and the loss of the output of
    # the last; None: the model cannot be cut.
    stages: Callable[[nn.Module, int], list[nn.Module]] | None = None
    stage_loss: Callable[[Tensor, Batch], Tensor] | None = None
    # How a parameter is filled that was built without memory, on the device "meta"; None: the model
    # must be built as it is, with its values. No two modules may share a parameter.
    fill: Fill | None = None
    # How tensor parallelism shards it; None: not supported.
    tp_plan: Callable[[nn.Module], Mapping[str, ParallelStyle]] | None = None
