"""Times an operation that ranks call together, many times in a row."""

from array import array
from collections.abc import Callable

import torch
import torch.distributed as dist

from benchmarks.common.clocks import clock_of


def timed_observations(
    call: Callable[[], object], device: torch.device, number: int, repeat: int, warmup: int
) -> array:
    """Milliseconds of the warm-up, and of ``repeat`` observations of ``number`` calls.

    All ranks of the process group come here together, because they wait for each other after the
    warm-up. No rank waits between observations.
    """
    clock = clock_of(device)
    begin = clock.mark()
    for _ in range(warmup):
        call()
    end = clock.mark()
    clock.wait(end)
    dist.barrier()
    call()  # fills the device's queue, which has run empty in the barrier
    marks = [clock.mark()]
    for _ in range(repeat):
        for _ in range(number):
            call()
        marks.append(clock.mark())
    clock.wait(marks[-1])
    return array("d", map(clock.milliseconds, [begin, *marks[:-1]], [end, *marks[1:]]))
