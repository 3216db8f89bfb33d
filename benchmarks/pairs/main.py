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
n (n - 1) / 2. --schedule both adds the pairs of the slowest round, each alone: by how much they
are faster tells whether the network blocks. It adds the slowest pairs alone, too, as many as a
round has at most: a bad cable is slow then, a way that others used is not. The data that arrives
first is checked.

--among across measures between nodes: of the ranks of two nodes each has the one of its place, at
the same time, so that all network cards of a node are busy, and N nodes take N - 1 rounds.
--among node measures within all nodes at the same time.

The slowest way, and each that takes a quarter longer than the median of its kind (within a node or
between nodes, one way or both), is measured --again times more at the end, with all that was
measured at the same time: the worst of many noisy figures is too low. The rate of the program is
that of the slowest way in these measurements.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.comm.subgroups import AMONG, nodes_of, partition
from benchmarks.common import cli, program
from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.metrics import Emitter
from benchmarks.common.observations import timed_observations
from benchmarks.common.session import Session, session, start_barrier
from benchmarks.pairs.rounds import (
    SCHEDULES,
    Pair,
    Seen,
    Times,
    Together,
    Ways,
    one_by_one,
    pairs_of,
    rounds_of,
    slower,
    slowest_round,
    slowest_way,
    suspects,
    total,
    units_of,
)

MOST_ALONE = 64  # ranks; 2016 pairs
PERIOD = 251  # of the data: a prime, so that no block of a message is like another


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--bytes", type=cli.byte_count, default="64Mi", help="size of a message")
    add("--schedule", choices=SCHEDULES, default="alone", help="pairs one by one, or all ranks")
    add("--among", choices=AMONG, default="all", help="ranks that make pairs: those of a part")
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


def observe(args: argparse.Namespace, run: Session, units: Sequence[Together]) -> Iterator[Seen]:
    """The times of this rank; all ranks come here together, with the same units.

    Where it has no part in a unit, it waits for the others. Raises ``RuntimeError`` where other
    data arrives than was sent.
    """
    group = run.group
    for done, unit in enumerate(units):
        call: Callable[[], object] = _nothing
        own = [ways for ways in unit if any(group.rank in way for way in ways)]
        for ways in own:  # one, or none
            data = message(group.rank, args.bytes, group.device)
            result = torch.zeros_like(data)
            exchanged = exchange(ways, group.rank, data, result)
            call = run.plants.over_link(exchanged, ways[0], group.device)
            call()
            for sender, receiver in ways:
                if receiver == group.rank:
                    check(result, sender, receiver)
        numbers = args.number, args.repeat, args.warmup, args.seconds
        ms = timed_observations(run, call, *numbers, (done, len(units)))
        yield from (Seen(ways, ms) for ways in own)


def measurements(
    args: argparse.Namespace, run: Session, parts: Sequence[Sequence[int]], nodes: Sequence[str]
) -> dict[str, dict[Ways, list[Times]]]:
    """On rank 0 the times of all ways, by how they were measured: all of a schedule, some again."""
    first = "alone" if args.schedule == "alone" else "rounds"
    rounds = rounds_of(first, parts)
    units = [unit for each in rounds for unit in units_of(each)]
    measured: dict[str, dict[Ways, list[Times]]] = defaultdict(lambda: defaultdict(list))

    def measure(name: str, units: Sequence[Together]) -> dict[Ways, Times]:
        found = slower(run.group.gather(list(observe(args, run, units))))
        for ways, ms in found.items():
            measured[name][ways].append(ms)
        return found

    found = measure(first, units)
    asked: tuple[list[int], list[Pair], int] = ([], [], 0)
    if run.group.rank == 0:
        slow = suspects(found, nodes)
        again = [place for place, unit in enumerate(units) if slow.intersection(unit)]
        slowest_first = sorted(slow, key=lambda ways: -total(found[ways]) / len(ways))
        asked = again, pairs_of(slowest_first), slowest_round(rounds, found)
    told = [asked]
    dist.broadcast_object_list(told)
    again, slow_pairs, slowest = told[0]
    for _ in range(args.again):
        measure(first, [units[place] for place in again])
    if args.schedule == "both":  # once more at the same time, because it was chosen as the slowest
        measure(first, units_of(rounds[slowest]))
        measure("alone", one_by_one(rounds[slowest]))
        few = slow_pairs[: sum(map(len, rounds[slowest]))]
        measure("suspect", [unit for pair in few for unit in units_of([[pair]])])
    return measured


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
    **how: object,
) -> None:
    """Report a row: the mean of the last measurement, and the best observation of all.

    Args:
        how: under which ``schedule`` it was measured, and which ``part`` of the ranks it is of.
    """
    gigabytes = len(ways) * args.bytes * args.number / 1e9
    last = seen[-1][1:]
    best = min(min(ms[1:]) for ms in seen)
    sender, receiver = ways[0]
    row = {
        "from": sender,
        "to": receiver,
        "ways": len(ways),
        "nodes": [nodes[sender], nodes[receiver]],
        **how,
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
        nodes = nodes_of(group)
        parts = [list(range(group.world_size))]
        if args.among != "all":
            parts = partition(nodes, args.among)
        most = max(map(len, parts))
        if most < 2:
            raise SkippedError(f"--among {args.among} has no pairs: all parts have one rank")
        if args.schedule == "alone" and most > MOST_ALONE:
            raise UnsupportedError(
                f"{most} ranks have too many pairs to measure one by one: use --schedule rounds"
            )
        if group.rank == 0:
            start_barrier(emitter)  # the others wait in the barrier
        dist.barrier()  # all ranks have to take part in the first operation
        measured = measurements(args, run, parts, nodes)
        if group.rank == 0:
            part_of = {rank: number for number, part in enumerate(parts) for rank in part}
            for name, found in measured.items():
                for ways, each in found.items():
                    how = {"schedule": name, "part": part_of[ways[0][0]]}
                    report_pair(emitter, args, ways, each, nodes, **how)
            found = next(iter(measured.values()))
            latest = {ways: each[-1] for ways, each in found.items() if len(each) > 1}
            report_rate(emitter, args, latest[slowest_way(latest)])


def _nothing() -> None:
    """What a rank without a partner does."""


if __name__ == "__main__":
    program.run(main)
