"""How fast do the devices talk to each other? One collective operation, over sizes of its data.

    torchrun --nproc-per-node 8 benchmarks/comm/main.py --op all_reduce --max-bytes 1Gi

all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, and p2p (a ring: each rank sends to
the next, as nccl-tests' sendrecv) through torch.distributed: NCCL on GPUs, gloo on CPUs. Sizes and
formulas are those of nccl-tests (doc/PERFORMANCE.md there), for n ranks:

    algorithm bandwidth = bytes / time
    bus bandwidth       = algorithm bandwidth * 2(n-1)/n   all_reduce
                                              *  (n-1)/n   all_gather, reduce_scatter, all_to_all
                                              *  1         broadcast, p2p

The bytes are those of the larger of input and result of a rank. For each size the result of one
call is checked against what it must be; then --warmup operations are not timed, and --repeat times
--number of them are, with nothing in between that waits. The time of a size is the mean over the
timed operations on the slowest rank. After the last size a line is fitted to all of them:

    time = alpha + bytes / beta

by least squares of relative errors, (fit - time) / time: times reach over decades and are off in
proportion to themselves; without the weights 1/time^2 the largest sizes alone would decide, and
alpha, the time of an empty message, would be lost in their noise. The residual is the root mean
square of those relative errors: a large one says that the library changes its algorithm with size.

The rate is the bus bandwidth of the largest size in GB/s (1e9 bytes); an observation is --number
operations.
"""

import argparse
import math
import re
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.comm.collectives import OPERATIONS, Exchange, Place, checked
from benchmarks.common import cli, start
from benchmarks.common.clocks import clock_of
from benchmarks.common.device import peak_memory
from benchmarks.common.failure import Refusal
from benchmarks.common.group import Group
from benchmarks.common.metrics import Emitter
from benchmarks.common.session import session

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_SUFFIX = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def size(text: str) -> int:
    """Bytes, as ``1048576`` or ``1Mi``."""
    found = re.fullmatch(r"(\d+)(Ki|Mi|Gi|)", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, such as 512, 64Ki, 1Gi")
    return int(found[1]) * _SUFFIX[found[2]]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--op", choices=OPERATIONS, default="all_reduce", help="the operation")
    add("--min-bytes", type=size, default="1Ki", help="the first size")
    add("--max-bytes", type=size, default="64Mi", help="no size is above this")
    add("--factor", type=cli.positive, default=2, help="from one size to the next")
    add("--dtype", choices=DTYPES, default="fp32", help="type of the elements")
    add("--number", type=cli.positive, default=20, help="operations of an observation")
    add("--repeat", type=cli.positive, default=5, help="observations of each size")
    add("--warmup", type=cli.positive, default=5, help="operations before them, for each size")
    return parser


@dataclass(frozen=True)
class Measured:
    """One size: milliseconds of its observations on each rank."""

    bytes: int
    warmup: int  # operations before the first observation
    number: int  # operations of an observation
    all_ms: Sequence[Sequence[float]]  # of each rank; first those of the warm-up

    @property
    def ms(self) -> list[Sequence[float]]:
        """Those that count."""
        return [of_rank[1:] for of_rank in self.all_ms]

    @property
    def slowest(self) -> int:
        """The rank that took longest."""
        return max(range(len(self.ms)), key=lambda rank: sum(self.ms[rank]))

    @property
    def seconds(self) -> list[float]:
        """Time of one operation in each observation of the slowest rank."""
        return [ms / 1e3 / self.number for ms in self.ms[self.slowest]]

    @property
    def time(self) -> float:
        """Mean time of one operation, in seconds."""
        return math.fsum(self.seconds) / len(self.seconds)


@dataclass(frozen=True)
class Line:
    """time = alpha + bytes / beta."""

    alpha: float  # seconds
    beta: float  # bytes per second; inf where time does not grow with size
    residual: float  # root mean square of the relative errors


def fit(points: Sequence[tuple[float, float]]) -> Line | None:
    """The line through (bytes, seconds), weighted 1/seconds^2; None for fewer than two sizes."""
    if len({x for x, _ in points}) < 2:
        return None
    weights = [1 / t**2 for _, t in points]
    total = math.fsum(weights)
    x_mean = math.fsum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    t_mean = math.fsum(w * t for w, (_, t) in zip(weights, points, strict=True)) / total
    pairs = list(zip(weights, points, strict=True))
    slope = math.fsum(w * (x - x_mean) * (t - t_mean) for w, (x, t) in pairs)
    slope /= math.fsum(w * (x - x_mean) ** 2 for w, (x, _) in pairs)
    alpha = t_mean - slope * x_mean
    errors = [(alpha + slope * x - t) / t for x, t in points]
    residual = math.sqrt(math.fsum(e * e for e in errors) / len(errors))
    return Line(alpha, 1 / slope if slope > 0 else math.inf, residual)


def sizes(least: int, most: int, factor: int, unit: int) -> list[int]:
    """Bytes from ``least`` to ``most``, each a multiple of ``unit``, none twice."""
    found, at = [], least
    while at <= most:
        found.append(max(unit, at // unit * unit))
        at = at * factor if factor > 1 else most + 1
    return sorted(set(found))


def measure(exchange: Exchange, group: Group, number: int, repeat: int, warmup: int) -> array:
    """Milliseconds of the warm-up and of each of ``repeat`` observations on this rank."""
    clock = clock_of(group.device)
    begin = clock.mark()
    for _ in range(warmup):
        exchange.call()
    end = clock.mark()
    clock.wait(end)
    dist.barrier()
    exchange.call()  # fills the device's queue, which has run empty in the barrier
    marks = [clock.mark()]
    for _ in range(repeat):
        for _ in range(number):
            exchange.call()
        marks.append(clock.mark())
    clock.wait(marks[-1])
    return array("d", map(clock.milliseconds, [begin, *marks[:-1]], [end, *marks[1:]]))


def digits(value: float) -> float:
    """Six digits: more than any clock has."""
    return float(f"{value:.6g}")


def tell(emitter: Emitter, args: argparse.Namespace, ranks: int, seen: Measured) -> None:
    """One row of the table."""
    bandwidth = seen.bytes / seen.time / 1e9
    row = {
        "op": args.op,
        "backend": dist.get_backend(),
        "dtype": args.dtype,
        "ranks": ranks,
        "bytes": seen.bytes,
        "operations": seen.number * len(seen.seconds),
        "time_us": digits(seen.time * 1e6),
        "time_us_best": digits(min(seen.seconds) * 1e6),
        "time_us_worst": digits(max(seen.seconds) * 1e6),
        "algorithm_gb_s": digits(bandwidth),
        "bus_gb_s": digits(bandwidth * float(OPERATIONS[args.op].bus_factor(ranks))),
        "slowest_rank": seen.slowest,
        "right": True,  # a wrong result ends the program
    }
    emitter.data("main", comm=row)


def conclude(
    emitter: Emitter, args: argparse.Namespace, ranks: int, table: Sequence[Measured]
) -> None:
    """The fit, and the rates of the largest size."""
    line = fit([(seen.bytes, seen.time) for seen in table])
    if line is not None:
        found = {
            "alpha_us": digits(line.alpha * 1e6),
            "beta_gb_s": digits(line.beta / 1e9) if math.isfinite(line.beta) else None,
            "residual": digits(line.residual),
        }
        emitter.data("main", comm_fit={"op": args.op, "sizes": len(table), **found})
    largest = table[-1]
    bus_gb = largest.bytes * float(OPERATIONS[args.op].bus_factor(ranks)) / 1e9
    seconds = largest.all_ms[largest.slowest][0] / 1e3
    rate = bus_gb * largest.warmup / seconds
    emitter.rate("train", rate, "GB/s", step=0, elapsed=seconds, steps=1, warmup=True)
    elapsed = 0.0
    for step, each in enumerate(largest.seconds, start=1):
        elapsed += each * largest.number
        emitter.rate("train", bus_gb / each, "GB/s", step=step, elapsed=elapsed, steps=1)
    for rank, ms in enumerate(largest.ms):
        emitter.step_times(rank, 1, ms, [0.0] * len(ms))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    emitter = Emitter.from_environment()
    with session(args.device, distributed=True) as run:
        group, operation, dtype = run.group, OPERATIONS[args.op], DTYPES[args.dtype]
        ranks = group.world_size
        if ranks < 2:
            raise Refusal("communication takes two ranks or more, there is one: use torchrun")
        if args.min_bytes > args.max_bytes:
            raise Refusal(f"--min-bytes {args.min_bytes} is above --max-bytes {args.max_bytes}")
        place = Place(group.rank, ranks, group.device, dtype)
        unit = dtype.itemsize * (ranks if operation.divided else 1)

        table = []
        if group.rank == 0:
            start.barrier(emitter)  # the others wait in the first operation
        for at in sizes(args.min_bytes, args.max_bytes, args.factor, unit):
            exchange = checked(args.op, place, at // dtype.itemsize)
            ms = group.gather(measure(exchange, group, args.number, args.repeat, args.warmup))
            if group.rank == 0:
                table.append(Measured(at, args.warmup, args.number, ms))
                tell(emitter, args, ranks, table[-1])
        memories = group.gather(peak_memory(group.device))
        if group.rank == 0:
            conclude(emitter, args, ranks, table)
            for rank, memory in enumerate(memories):
                if memory is not None:
                    emitter.data("main", rank=rank, memory_peak=memory)


if __name__ == "__main__":
    main()
