"""What becomes of activations between the forward and the backward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    OffloadWrapper,
    checkpoint_wrapper,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.placement_types import Placement
from torch.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

from benchmarks.common.dropout import has_dropout

# The activations that the backward pass needs. ``noop`` keeps them; ``checkpoint`` keeps only the
# inputs of each block and computes the rest again in the backward pass: a third more operations,
# least memory; ``selective`` also keeps what is dear to compute, as torchtitan does: attention,
# sums over ranks, and every other matrix product; ``offload`` moves what each block saves to the
# host, and back for the backward pass.
ACTIVATIONS = ("noop", "checkpoint", "selective", "offload")
PRODUCTS = frozenset({torch.ops.aten.mm.default, torch.ops.aten.addmm.default})
KEPT = frozenset(
    {
        torch.ops.aten._scaled_dot_product_flash_attention.default,
        torch.ops.aten._scaled_dot_product_efficient_attention.default,
        torch.ops.aten._scaled_dot_product_cudnn_attention.default,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
        torch.ops._c10d_functional.reduce_scatter_tensor.default,
        torch.ops._c10d_functional.all_reduce.default,
        torch.ops.aten.max.default,  # of which fp8 makes its scale: a number for each tensor
    }
)


@dataclass(frozen=True)
class _Part:
    """This rank's part of a ``DTensor`` on the host, and what it takes to restore it."""

    part: object  # as ``save_on_cpu`` packs it
    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: torch.Size
    stride: tuple[int, ...]


class _SavedOnHost(save_on_cpu):
    """PyTorch's hooks that keep saved tensors on the host; of a ``DTensor`` this rank's part.

    PyTorch's own cannot copy a ``DTensor``, which tensor parallelism has, to a plain tensor.
    """

    def __init__(self) -> None:
        super().__init__(pin_memory=True)
        to_host, back = self.pack_hook, self.unpack_hook

        def pack(tensor: torch.Tensor) -> object:
            if isinstance(tensor._base if tensor._is_view() else tensor, nn.Parameter):
                return tensor  # a weight stays where it is
            if not isinstance(tensor, DTensor):
                return to_host(tensor)
            part = to_host(tensor.to_local())
            return _Part(part, tensor.device_mesh, tensor.placements, tensor.shape, tensor.stride())

        def unpack(saved: object) -> torch.Tensor:
            if isinstance(saved, torch.Tensor):
                return saved
            if not isinstance(saved, _Part):
                return back(saved)
            return DTensor.from_local(
                back(saved.part),
                saved.mesh,
                saved.placements,
                shape=saved.shape,
                stride=saved.stride,
            )

        self.pack_hook, self.unpack_hook = pack, unpack


class _Offloaded(OffloadWrapper):
    """A block that keeps on the host what its backward pass needs."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with _SavedOnHost():
            return self._checkpoint_wrapped_module(*args, **kwargs)


def _selected() -> Any:
    products = {True: 0, False: 0}

    def policy(context: SelectiveCheckpointContext, function: Any, *_: Any, **__: Any) -> Any:
        keep = function in KEPT
        if function in PRODUCTS:
            products[context.is_recompute] += 1
            keep = products[context.is_recompute] % 2 == 1
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def wrap_blocks(
    model: nn.Module, blocks: Sequence[nn.Module], activation: str, every: int = 1
) -> None:
    """Wrap every n-th of ``blocks`` in ``model``, from the n-th on, as ``ACTIVATIONS`` says."""
    if activation == "noop":
        return
    chosen = {id(block) for block in blocks[every - 1 :: every]}
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if id(child) not in chosen:
                continue
            if activation == "offload":
                wrapped = _Offloaded(child)
            else:
                # Restoring the generator's state costs the host a copy from the device.
                how: dict[str, Any] = {"preserve_rng_state": has_dropout(child)}
                if activation == "selective":
                    how["context_fn"] = _selected
                wrapped = checkpoint_wrapper(
                    child, checkpoint_impl=CheckpointImpl.NO_REENTRANT, **how
                )
            setattr(parent, name, wrapped)
