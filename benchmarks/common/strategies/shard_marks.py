"""Marks of FSDP2's waits: around each block, in the forward and in the backward pass.

FSDP gathers the parameters of a block before it computes, and reduces its gradients afterwards, in
hooks of its own: a forward pre-hook, a hook on the gradient of the output, one on the gradient of
the inputs, and a callback at the end of the backward pass. Hooks of ours just before and after them
mark what they take. On a GPU that is what the stream of the computation waits for, and the copies
into and out of the buffers of the collectives.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.distributed.fsdp import FSDPModule
from torch.utils._pytree import tree_leaves

from benchmarks.common.marks import Waits


class ShardMarks:
    """Marks where a rank waits for the shards of others, in each step."""

    is_on = True  # whether the forward passes that begin now are marked, with their backward passes
    _in_backward = False

    def __init__(self, model: nn.Module, waits: Waits) -> None:
        self._waits = waits
        for module in model.modules():
            if isinstance(module, FSDPModule):
                before, after = self._before_gather, self._after_gather
                module.register_forward_pre_hook(before, prepend=True, with_kwargs=True)
                module.register_forward_pre_hook(after, with_kwargs=True)
                module.register_forward_hook(self._before_return, prepend=True)
                module.register_forward_hook(self._after_return)

    def passed(self) -> None:
        self._waits.end()

    @torch.compiler.disable
    def _before_gather(self, _: nn.Module, args: Any, kwargs: Any) -> None:
        if not self.is_on:
            return
        self._waits.begin()
        _at_gradients((args, kwargs), self._waits.end)  # FSDP has sent the block's gradients

    @torch.compiler.disable
    def _after_gather(self, _: nn.Module, args: Any, kwargs: Any) -> None:
        if not self.is_on:
            return
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, Tensor) and value.grad_fn is not None:
                # The block's gradients are there. Behind all hooks of the tensor, which has those
                # of an output, too, where the block passes it on.
                value.grad_fn.register_prehook(lambda _: self._waits.begin())
        self._waits.end()

    @torch.compiler.disable
    def _before_return(self, _module: nn.Module, _: Any, output: Any) -> None:
        if self.is_on:
            _at_gradients(output, self._begin)

    @torch.compiler.disable
    def _after_return(self, _module: nn.Module, _: Any, output: Any) -> None:
        if self.is_on:
            _at_gradients(output, self._waits.end)

    def _begin(self) -> None:
        if not self._in_backward:
            # FSDP's own callback, which waits for the gradients, comes behind this one.
            Variable._execution_engine.queue_callback(self._end_pass)
            self._in_backward = True
        self._waits.begin()

    def _end_pass(self) -> None:
        self._in_backward = False
        self._waits.begin()


def _at_gradients(values: Any, call: Callable[[], None]) -> None:
    """Call this whenever the gradient of one of the tensors in ``values`` is known."""
    for value in tree_leaves(values):
        if isinstance(value, Tensor) and value.requires_grad:
            value.register_hook(lambda _: call())
