"""Holds what the programs measure on a device against other instruments; exit 1 if they differ.

    python perf/gpu_truth.py [--device cuda]

- the time between two marks against the sum of the kernels in it, by PyTorch's profiler: 3 %;
- TFLOP/s of ``flops`` and GB/s of ``membw`` against ``triton.testing.do_bench_cudagraph`` (on a
  CPU, where there is no Triton, ``torch.utils.benchmark``): within 2 %. Both call without a pause:
  ``do_bench`` flushes the cache before each call, a rest in which the device cools, and its clock
  rises. What it tells is printed beside them.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common.clocks import clock_of
from benchmarks.flops import main as flops
from benchmarks.membw import main as membw

Check = tuple[str, float, float, float]  # what, the figure, and its bounds
ROUNDS, CALLS = 8, 20
LASTS = 200.0  # ms, as do_bench_cudagraph: a device that is loaded longer is slower


def marked_ms(call: Callable[[], object], device: torch.device) -> float:
    """Milliseconds of one call, by the marks that programs use, of calls that take ``LASTS``."""
    clock = clock_of(device)
    count = 1
    while True:
        start = clock.mark()
        for _ in range(count):
            call()
        end = clock.mark()
        clock.wait(end)
        took = clock.milliseconds(start, end)
        if took >= LASTS / 2:
            return took / count
        count = min(round(count * LASTS / max(took, 1e-3)) + 1, 100 * count)


def other_ms(call: Callable[[], object], device: torch.device, *, flush: bool = False) -> float:
    """Milliseconds of one call, by somebody else's instrument; ``flush``: with pauses between."""
    if device.type == "cpu":
        timed = Timer("call()", globals={"call": call}).blocked_autorange(min_run_time=0.1)
        return float(timed.mean * 1e3)
    from triton.testing import do_bench, do_bench_cudagraph

    return float((do_bench if flush else do_bench_cudagraph)(call, return_mode="mean"))


def speed(call: Callable[[], object], device: torch.device, *, flush: bool = False) -> float:
    """Our speed over the other's, by the quickest of rounds in turn."""
    ours, others = [], []
    for _ in range(ROUNDS):
        ours.append(marked_ms(call, device))
        others.append(other_ms(call, device, flush=flush))
    return min(others) / min(ours)


def profiled_ms(call: Callable[[], object], device: torch.device) -> tuple[float, float]:
    """Milliseconds of some calls by the marks around them, and by the profiler's kernels."""
    clock = clock_of(device)
    call()
    kinds = [ProfilerActivity.CPU]
    if device.type != "cpu":
        kinds.append(ProfilerActivity.CUDA)
    with profile(activities=kinds) as profiler:
        call()
        start = clock.mark()
        for _ in range(CALLS):
            call()
        end = clock.mark()
        clock.wait(end)
    # An operation of the host has the time of its kernels, too: only the kernels count.
    on_cpu = device.type == "cpu"
    name = "self_cpu_time_total" if on_cpu else "self_device_time_total"
    microseconds = sum(
        getattr(event, name)
        for event in profiler.key_averages()
        if (event.device_type == DeviceType.CPU) == on_cpu
    )
    # the profiler also saw the call before the first mark
    return clock.milliseconds(start, end), microseconds / 1e3 * CALLS / (CALLS + 1)


def checks(device: torch.device) -> Iterator[Check]:
    """Every check with its figure and bounds."""
    side = 512 if device.type == "cpu" else 8192
    multiply, _ = flops.product((side, side, side), "bf16", device, seed=0)
    marks, kernels = profiled_ms(multiply, device)
    yield "marks over the profiler's kernels", marks / kernels, 0.97, 1.03
    if device.type != "cpu":
        yield "flops over do_bench, which cools", speed(multiply, device, flush=True), 0.8, 1.1
    yield "flops over another instrument", speed(multiply, device), 0.98, 1.02

    vectors = [
        torch.rand(2**24 if device.type == "cpu" else 2**28, device=device) for _ in range(3)
    ]

    def triad() -> None:
        membw.OPERATIONS["triad"].call(*vectors)

    yield "membw over another instrument", speed(triad, device), 0.98, 1.02


def main() -> None:
    """Print a line for each check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    device = parser.parse_args().device
    wrong = 0
    for what, figure, least, most in checks(device):
        is_right = least <= figure <= most
        wrong += not is_right
        print(f"{what:40} {figure:8.4f}  {least} to {most}{'' if is_right else '  WRONG'}")
    # on a CPU other programs disturb the figures: it is a rehearsal
    sys.exit(wrong > 0 and device.type != "cpu")


if __name__ == "__main__":
    main()
