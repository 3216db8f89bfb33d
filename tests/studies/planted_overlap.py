"""Plants delays of DDP's buckets on several ranks, and prints what is exposed and hidden then.

    python -m tests.studies.planted_overlap

Four ranks train a small GPT under DDP, in one torchrun. Time is moved by hand: a gradient takes a
millisecond, and the network, which sends a bucket when the last rank has it, two for each. So the
marks, the extra steps and the ledger are the real ones, and the result does not depend on the
machine. Printed are, in ms, communication and waiting of the ledger, what is hidden on each rank,
and by how much the ledger differs from the mean step, at most.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from itertools import repeat
from statistics import fmean
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.common import overlap, strategies
from benchmarks.common.group import Group
from benchmarks.common.marks import Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.strategies import Strategy, data_parallel
from benchmarks.common.timing import StepTimer
from milabench_ddp.report.ranks.ledger import COMMUNICATION, WAITING, launch_times
from tests.studies.planted_stragglers import RANKS, SharedTime, gathered, off
from tests.support.ddp_network import Network
from tests.support.strategies import batch, options, workload

STEPS = 40
CASES: dict[str, dict[str, float]] = {
    "clean": {},
    "last bucket 3.5 ms later": {"last": 3.5},
    "first bucket 3 ms later": {"first": 3.0},
    "the same, 30 steps of warm-up of 5 s": {"first": 3.0, "warm": 5000.0},
    "a gradient takes rank 1 0.2 ms more": {"slow": 0.2},
}


class SharedNetwork(Network):
    """A network that sends a bucket when all ranks have it."""

    def send(self, state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Send it, as late as the last rank lets it."""
        ready = torch.tensor([max(self.idle_at, self.clock.ns)])
        dist.all_reduce(ready, dist.ReduceOp.MAX)
        self.idle_at = int(ready)
        now, self.clock.ns = self.clock.ns, min(self.clock.ns, self.idle_at)
        sent = super().send(state, bucket)
        self.clock.ns = now
        return sent


class Clock(SharedTime):
    """The time of this rank, in ns, which the network reads and sets."""

    @property
    def ns(self) -> int:
        """The time."""
        return int(self._ns)

    @ns.setter
    def ns(self, value: int) -> None:
        self._ns.fill_(value)


class Run:
    """What the extra steps need of a session."""

    def __init__(self, group: Group, waits: Waits) -> None:
        """Of this rank."""
        self.group, self.waits = group, waits
        self.told: list[dict[str, Any]] = []

    def spare_steps(self, *_: float) -> int:
        """As many as there may be."""
        return overlap.MOST

    def report(self, **line: Any) -> None:
        """Keep a line."""
        self.told.append(line)


def trained(group: Group, planted: dict[str, float]) -> tuple[StepTimer, Run]:
    """Train with these delays."""
    clock = Clock()
    delays = {name: ms for name, ms in planted.items() if name in ("first", "last")}
    network = SharedNetwork(clock, **delays)
    data_parallel.HOOKS["allreduce"] = network.send  # type: ignore[index]
    argv = "--mode ddp --bucket-cap-mb 0.03 --comm-hook allreduce"
    args = options(argv)
    strategy = strategies.build(args, workload(args), group)
    own = 1.0 + planted.get("slow", 0.0) * (group.rank == 1)
    for parameter in strategy.model.parameters():
        parameter.register_hook(lambda _: clock.sleep(own))
    strategy.model.register_forward_pre_hook(lambda *_: network.wait())
    waits = Waits(clock)
    strategy.mark_waits(waits)
    parts = ("forward", "backward", "optimizer", "host")
    timer = StepTimer(
        clock, Emitter(lambda _: None), work=1, units="steps", parts=parts, waits=waits,
        now=clock.mark,
    )  # fmt: skip
    batches = repeat(batch(0, group.rank))
    for number, each in enumerate(timer.steps(batches, STEPS, 30)):
        clock.sleep(planted.get("warm", 0.0) if number < 30 else 0.0)
        step(timer, strategy, each, clock, network)
    run = Run(group, waits)
    overlap.measure(run, strategy, batches)  # type: ignore[arg-type]
    return timer, run


def step(timer: StepTimer, strategy: Strategy, each: Any, clock: Clock, network: Network) -> None:
    """A step with a forward pass of 10 ms and an update of 1 ms."""
    loss = strategy.forward(each)
    clock.sleep(10)
    timer.lap()
    strategy.backward(loss)
    network.wait()
    timer.lap()
    strategy.step()
    clock.sleep(1)
    timer.lap()


def hidden(lines: list[dict[str, Any]]) -> Iterator[float]:
    """What each rank hides, in ms."""
    for line in lines:
        yield line["hidden_communication_ms"]


def worker() -> None:
    """Train all cases on this rank; rank 0 prints."""
    group = Group.join("cpu")
    torch.set_num_threads(1)
    for name, planted in CASES.items():
        timer, run = trained(group, planted)
        record = gathered(timer, "ddp")
        times = launch_times(record, lambda _: 0)
        if times is None:
            continue
        items = times.ledger()
        shown = ", ".join(f"{ms:.2f}" for ms in hidden(run.told))
        waiting = ", ".join(f"{ms:.2f}" for ms in items[WAITING])
        print(
            f"{name:37} communication {fmean(items[COMMUNICATION]):5.2f}  waiting {waiting}"
            f"  hidden {shown}  ledger off by {off(record):.2%}",
            flush=True,
        )
    group.leave()


def main() -> None:
    """Start the ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().worker:
        worker()
        return
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    run += [f"--nproc-per-node={RANKS}", "-m", "tests.studies.planted_overlap", "--worker"]
    subprocess.run(run, check=True)


if __name__ == "__main__":
    main()
