"""What only a GPU shows is tested on one, where there is one; the same code always on the CPU."""

import time

import pytest
import torch

from benchmarks.common.clocks import CYCLES


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return torch.device(request.param, 0 if request.param == "cuda" else None)


@pytest.fixture
def work(device):
    """Takes a device at least so many milliseconds, on its current stream; a CPU sleeps."""
    if device.type == "cpu":
        return lambda ms: time.sleep(ms / 1e3)
    for _ in range(20):
        torch.cuda._sleep(10 * CYCLES)  # until its clock is high
    torch.cuda.synchronize()
    return lambda ms: torch.cuda._sleep(round(ms * CYCLES))
