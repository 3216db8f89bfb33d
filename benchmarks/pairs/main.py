"""Measures the links between devices: every pair of ranks, one way, back, and both ways at once.

    torchrun --nproc-per-node 8 benchmarks/pairs/main.py --bytes 64Mi

A ring or an all-reduce is as fast as its slowest link, and may not use every link: a bad one hides
in their time. Here a rank sends --bytes to another, through NCCL on GPUs and gloo on CPUs, first
--warmup times, then --repeat times --number times that are measured, or as many as take --seconds,
divided by the pairs and ways, if those are more:

    GB/s = ways * bytes * number / seconds / 1e9

The time of an observation is that of the slower of the two ranks. By default a pair has the
machine for itself. With --schedule rounds all ranks are busy, each with one other, as in a
tournament: then pairs share switches and network cards, and n ranks take n - 1 rounds instead of
n (n - 1) / 2. The data that arrives first is checked.

The slowest way, and each that takes a quarter longer than the median of its kind (within a node or
between nodes, one way or both), is measured --again times more at the end: the worst of many noisy
figures is too low. The rate of the program is that of the slowest way in these measurements.
"""

import argparse
import math
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.metrics import Emitter
from benchmarks.common.observations import timed_observations
from benchmarks.common.session import Session, session, start_barrier
from benchmarks.pairs.rounds import (
    SCHEDULES,
    Pair,
    Seen,
    Times,
    Ways,
    schedule,
    slower,
    slowest_way,
    suspects,
)

MOST_ALONE = 64  # ranks; 2016 pairs
PERIOD = 251  # of the data: a prime, so that no block of a message is like another


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--bytes", type=cli.byte_count, default="64Mi", help="size of a message")
    add("--schedule", choices=SCHEDULES, default="alone", help="pairs one by one, or all ranks")
    add("--number", type=cli.positive, default=10, help="messages in an observation")
    add("--repeat", type=cli.positive, default=5, help="observations of each pair and way")
    cli.add_seconds(add, "--repeat")
    add("--again", type=cli.positive, default=2, help="more measurements of slow pairs")
    add("--warmup", type=cli.positive, default=3, help="messages before those that are measured")
    return parser


def exchange(ways: Ways, rank: int, data: Tensor, result: Tensor) -> Callable[[], None]:
    """A function with which this rank sends and receives its part."""

    def call() -> None:
        operations = []
        for sender, receiver in ways:
            if sender == rank:
                operations.append(dist.P2POp(dist.isend, data, receiver))
            if receiver == rank:
                operations.append(dist.P2POp(dist.irecv, result, sender))
        for work in dist.batch_isend_irecv(operations):
            work.wait()

    return call


def ways_of(rank: int, pairs: Sequence[Pair]) -> list[Ways]:
    """One way, back, and both at once, of a rank's pair in a round; empty where it has none."""
    there: Ways = ()
    back: Ways = ()
    for first, second in pairs:
        if rank in (first, second):
            there, back = ((first, second),), ((second, first),)
    return [there, back, there + back]


def observe(args: argparse.Namespace, run: Session, all_ways: Sequence[Ways]) -> Iterator[Seen]:
    """The times of this rank; all ranks come here together, with as many ways.

    Where it has no part in the ways, it waits for the others. Raises ``RuntimeError`` where other
    data arrives than was sent.
    """
    group = run.group
    for done, ways in enumerate(all_ways):
        call: Callable[[], None] = _nothing
        takes_part = any(group.rank in way for way in ways)
        if takes_part:
            data = message(group.rank, args.bytes, group.device)
            result = torch.zeros_like(data)
            call = exchange(ways, group.rank, data, result)
            call()
            for sender, receiver in ways:
                if receiver == group.rank:
                    check(result, sender, receiver)
        numbers = args.number, args.repeat, args.warmup, args.seconds
        ms = timed_observations(run, call, *numbers, (done, len(all_ways)))
        if takes_part:
            yield Seen(ways, ms)


def message(sender: int, bytes_: int, device: torch.device) -> Tensor:
    """The data that a rank sends."""
    period = (torch.arange(PERIOD, device=device) + sender) % PERIOD
    return period.to(torch.uint8).repeat(-(-bytes_ // PERIOD))[:bytes_]


def check(result: Tensor, sender: int, receiver: int) -> None:
    """Raise ``RuntimeError`` if the result is not what the sender sent."""
    if not torch.equal(result, message(sender, len(result), result.device)):
        raise RuntimeError(f"rank {receiver} received other data than rank {sender} sent")


def report_pair(
    emitter: Emitter,
    args: argparse.Namespace,
    ways: Ways,
    seen: Sequence[Times],
    nodes: Sequence[str],
) -> None:
    """Report a row: the mean of the last measurement, and the best observation of all."""
    gigabytes = len(ways) * args.bytes * args.number / 1e9
    last = seen[-1][1:]
    best = min(min(ms[1:]) for ms in seen)
    sender, receiver = ways[0]
    row = {
        "from": sender,
        "to": receiver,
        "ways": len(ways),
        "nodes": [nodes[sender], nodes[receiver]],
        "backend": dist.get_backend(),
        "bytes": args.bytes,
        "gb_s": gigabytes * len(last) / (math.fsum(last) / 1e3),
        "best_gb_s": gigabytes / (best / 1e3),
        "measurements": len(seen),
        "right": True,  # other data ends the program
    }
    emitter.data("main", pair=row)


def report_rate(emitter: Emitter, args: argparse.Namespace, ms: Sequence[float]) -> None:
    """Report the observations of the slowest way as the rate of the program."""
    elapsed = 0.0
    for step, each in enumerate(ms):
        warmup = {"warmup": True} if step == 0 else {}
        messages = args.number if step else args.warmup
        seconds = max(each, 1e-6) / 1e3
        elapsed += seconds
        rate = args.bytes * messages / 1e9 / seconds
        emitter.rate("train", rate, "GB/s", step=step, elapsed=elapsed, steps=1, **warmup)


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    emitter = Emitter.from_environment()
    with session(args.device, distributed=True) as run:
        group = run.group
        if group.world_size < 2:
            raise UnsupportedError("a pair needs two ranks: use torchrun")
        if args.schedule == "alone" and group.world_size > MOST_ALONE:
            raise UnsupportedError(
                f"{group.world_size} ranks have too many pairs to measure one by one: use "
                f"--schedule rounds"
            )
        nodes = group.gather(os.environ.get("MILABENCH_NODE") or socket.gethostname())
        if group.rank == 0:
            start_barrier(emitter)  # the others wait in the barrier
        dist.barrier()  # all ranks have to take part in the first operation
        all_ways: list[Ways] = []
        for pairs in schedule(args.schedule, group.world_size):
            all_ways += ways_of(group.rank, pairs)
        seen = list(observe(args, run, all_ways))
        measured = {ways: [ms] for ways, ms in slower(group.gather(seen)).items()}

        first = {ways: each[0] for ways, each in measured.items()}
        asked = [suspects(first, nodes) if group.rank == 0 else []]
        dist.broadcast_object_list(asked)
        for _ in range(args.again):
            again = slower(group.gather(list(observe(args, run, asked[0]))))
            for ways, ms in again.items():  # known to rank 0
                measured[ways].append(ms)
        if group.rank == 0:
            for ways, each in measured.items():
                report_pair(emitter, args, ways, each, nodes)
            latest = {ways: measured[ways][-1] for ways in asked[0]}
            report_rate(emitter, args, latest[slowest_way(latest)])


def _nothing() -> None:
    """What a rank without a partner does."""


if __name__ == "__main__":
    program.run(main)
