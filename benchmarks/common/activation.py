"""What becomes of the activations that the backward pass needs.

``noop`` keeps them. ``checkpoint`` keeps only the inputs of each block and computes the rest anew
in the backward pass: a third more operations, least memory. ``offload`` moves what each block saves
to the host, and back for the backward pass.
"""

from collections.abc import Sequence

from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    checkpoint_wrapper,
    offload_wrapper,
)

ACTIVATIONS = ("noop", "checkpoint", "offload")


def apply(model: nn.Module, blocks: Sequence[nn.Module], activation: str) -> None:
    """Wrap each of ``blocks`` where it stands in ``model``."""
    if activation == "noop":
        return
    chosen = {id(block) for block in blocks}
    places = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if id(child) in chosen
    ]
    for parent, name, block in places:
        setattr(parent, name, _wrapped(block, activation))


def _wrapped(block: nn.Module, activation: str) -> nn.Module:
    if activation == "offload":
        return offload_wrapper(block)
    return checkpoint_wrapper(block, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
