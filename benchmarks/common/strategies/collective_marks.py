"""Marks of the waits for the collectives of tensor parallelism.

A ``DTensor`` is sent by a functional collective: it returns at once with a tensor that waits where
it is first used, forward and backward, by ``wait_tensor``. There a GPU lets the stream of its
computation wait, and a CPU waits itself; marks just before and after it are of that stream, too.
Work that is done meanwhile is not counted as a wait. A compiled block waits inside its graph, which
calls no Python.
"""

from collections.abc import Callable
from functools import wraps

import torch.distributed._functional_collectives as collectives
from torch import Tensor

from benchmarks.common.marks import Waits


def mark_collectives(waits: Waits) -> None:
    """Mark from now on what this process waits for functional collectives, in ``waits`` alone."""
    wait = collectives.wait_tensor
    wait = getattr(wait, "__wrapped__", wait)  # of an earlier strategy
    collectives.wait_tensor = _marked(wait, waits)


def _marked(wait: Callable[[Tensor], Tensor], waits: Waits) -> Callable[[Tensor], Tensor]:
    @wraps(wait)
    def marked(tensor: Tensor) -> Tensor:
        if waits.is_open:  # within a wait of FSDP, which goes on behind it
            return wait(tensor)
        waits.begin_anew()
        result = wait(tensor)
        waits.end()
        return result

    return marked
