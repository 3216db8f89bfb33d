"""Python's garbage collector beside a measured loop.

A full collection visits every object that Python holds, half a million in a training program: tens
of milliseconds, in other steps on each rank, and all ranks wait for each. (Planned collections won
12.6 % at 128 ranks: ByteDance, OSDI 2025, arXiv 2505.05713.) ``gc.freeze`` hides these objects from
it, and what is left takes microseconds. It is not turned off, because steps make garbage that only
it can free, tensors among it: under activation checkpointing, pipelines and tensor parallelism.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen() -> Iterator[None]:
    """Collect now; in the block, collections visit only what is made there.

    If some objects were frozen before, all of them stay so: Python cannot thaw a part.
    """
    is_first = gc.get_freeze_count() == 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if is_first:
            gc.unfreeze()
