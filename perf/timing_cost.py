"""Measures the cost of the timing in `benchmarks/common` per step, relative to a bare loop.

    python perf/timing_cost.py [--device cuda]

Limits, on a CPU: with a step of 1 ms at least 0.995 times the steps per second of the bare loop;
with an empty body at most 1000 ns a step more than it. On a device, where a mark is an event, they
are missed (docs/results.rst). For comparison it also measures a bare pair of ``perf_counter_ns``,
the three parts of a training step, these with waits for four buckets of gradients, and
``voir.iterate``. The loops run in turn (A B A B ...). Printed are the quickest round of each, which
a busy machine disturbs least, and the median of the pairs. On a device the step is matrix products
that take about 1 ms there, and a loop ends when the device has done them.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import torch

from benchmarks.common.clocks import clock_of
from benchmarks.common.marks import Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.timing import StepTimer

STEP = 1_000_000  # nanoseconds
BUCKETS = 4
PARTS = ("forward", "backward", "optimizer")
# Half a second. The time to begin and to end a loop is not a cost of a step; it is printed.
WORK_STEPS, WORK_ROUNDS = 500, 12
SHORT_STEPS, SHORT_ROUNDS = 20, 40
EMPTY_STEPS, EMPTY_ROUNDS = 5_000, 40

Loop = Callable[[int, Callable[[], None]], None]
device = torch.device("cpu")


def spin() -> None:
    """Keep the host busy for one millisecond by the clock, so that its cost is known."""
    end = time.perf_counter_ns() + STEP
    while time.perf_counter_ns() < end:
        pass


def products() -> Callable[[], None]:
    """A function that queues matrix products which take the device about a millisecond."""
    a = torch.randn(2048, 2048, dtype=torch.bfloat16, device=device)

    def some(count: int) -> None:
        for _ in range(count):
            torch.mm(a, a)

    per_step(lambda count, _: some(count), 100, nothing)
    one = per_step(lambda count, _: some(count), 1000, nothing)
    return lambda: some(max(1, round(STEP / one)))


def synchronize() -> None:
    """Wait until the device has done what was queued."""
    if device.type != "cpu":
        torch.get_device_module(device).synchronize()


def nothing() -> None:
    """An empty body."""


def bare(count: int, body: Callable[[], None]) -> None:
    """The loop without any measurement."""
    for _ in repeat(None, count):
        body()


def clock_pair(count: int, body: Callable[[], None]) -> None:
    """The least cost of measuring each step: a mark before it and a mark after it are kept."""
    marks: list[tuple[int, int]] = []
    for _ in repeat(None, count):
        begin = time.perf_counter_ns()
        body()
        marks.append((begin, time.perf_counter_ns()))


def timed(count: int, body: Callable[[], None]) -> None:
    """The loop of the programs: ``StepTimer``, one part."""
    for _ in _timer(("body",)).steps(repeat(None), count, 0):
        body()


def timed_parts(count: int, body: Callable[[], None]) -> None:
    """The loop of the training programs: with marks between three parts."""
    timer = _timer(PARTS)
    for _ in timer.steps(repeat(None), count, 0):
        body()
        timer.lap()
        timer.lap()


def timed_waits(count: int, body: Callable[[], None]) -> None:
    """The loop of the programs under DDP: also with a mark where each bucket is ready."""
    waits = Waits(clock_of(device))
    timer = _timer(PARTS, waits)
    for _ in timer.steps(repeat(None), count, 0):
        body()
        timer.lap()
        for _ in range(BUCKETS):
            waits.begin_anew()
        timer.lap()


def voir_iterate(count: int, body: Callable[[], None]) -> None:
    """``voir.iterate`` with a listener for the steps, as its instrument ``rate`` has."""
    from giving import given
    from voir import iterate

    with given() as seen:
        seen.where(task="train").subscribe(lambda _: None)
        for _ in iterate("train", range(count), True, batch_size=1):
            body()


TIMED: Sequence[tuple[str, Loop]] = (
    ("common", timed),
    ("common, three parts", timed_parts),
    ("common, parts and waits", timed_waits),
)


def _timer(parts: tuple[str, ...], waits: Waits | None = None) -> StepTimer:
    emitter = Emitter(lambda _: None)
    return StepTimer(clock_of(device), emitter, work=1, units="steps", parts=parts, waits=waits)


def per_step(loop: Loop, count: int, body: Callable[[], None]) -> float:
    """Nanoseconds of one step."""
    synchronize()
    begin = time.perf_counter_ns()
    loop(count, body)
    synchronize()
    return (time.perf_counter_ns() - begin) / count


def rounds(
    loop: Loop, count: int, body: Callable[[], None], turns: int
) -> list[tuple[float, float]]:
    """Nanoseconds of a step of ``loop`` and of the bare loop, in turn."""
    per_step(loop, count, body), per_step(bare, count, body)  # imports modules, fills caches
    return [(per_step(loop, count, body), per_step(bare, count, body)) for _ in range(turns)]


def quickest(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest value of each side."""
    return min(mine for mine, _ in pairs), min(plain for _, plain in pairs)


def main() -> None:
    """Print a line for each loop."""
    global device
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=torch.device, default=device)
    device = parser.parse_args().device
    work = spin if device.type == "cpu" else products()
    print("a step of 1 ms: steps/s over those of the bare loop (on a CPU: at least 0.995)")
    for name, loop in TIMED:
        pairs = rounds(loop, WORK_STEPS, work, WORK_ROUNDS)
        mine, plain = quickest(pairs)
        middle = median(plain / mine for mine, plain in pairs)
        print(f"  {name:26} {plain / mine:.4f}   median of pairs {middle:.4f}")
    once = [mine - plain for mine, plain in rounds(timed, SHORT_STEPS, work, SHORT_ROUNDS)]
    print(f"  to begin and to end it, once {median(once) * SHORT_STEPS / 1e6:.2f} ms")
    print("an empty body: ns a step more than the bare loop (common, on a CPU: at most 1000)")
    for name, loop, count in (
        ("a pair of perf_counter_ns", clock_pair, EMPTY_STEPS),
        *((name, loop, EMPTY_STEPS) for name, loop in TIMED),
        ("voir.iterate", voir_iterate, EMPTY_STEPS // 20),
    ):
        pairs = rounds(loop, count, nothing, EMPTY_ROUNDS)
        mine, plain = quickest(pairs)
        middle = median(mine - plain for mine, plain in pairs)
        print(f"  {name:26} {mine - plain:6.0f}   median of pairs {middle:.0f}")


if __name__ == "__main__":
    main()
