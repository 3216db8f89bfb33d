"""Measures how fast devices communicate: one collective operation, over sizes of its data.

    torchrun --nproc-per-node 8 benchmarks/comm/main.py --op all_reduce --max-bytes 1Gi

all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, and p2p (a ring: each rank sends to
the next, as nccl-tests' sendrecv) through torch.distributed: NCCL on GPUs, gloo on CPUs. Sizes and
formulas are those of nccl-tests (doc/PERFORMANCE.md there), for n ranks:

    algorithm bandwidth = bytes / time
    bus bandwidth       = algorithm bandwidth * 2(n-1)/n   all_reduce
                                              *  (n-1)/n   all_gather, reduce_scatter, all_to_all
                                              *  1         broadcast, p2p

The bytes are those of a rank's input or of its result, whichever is larger. For each size the
result of one call is compared with the expected one. Then follow --warmup operations, which tell
how long one takes, and --repeat times --number operations that are measured, without a wait in
between; as many as take --seconds, divided by the sizes, if those are more. The time of a size is
the mean over the measured operations on the slowest rank. After the last size a line is fitted to
all sizes:

    time = alpha + bytes / beta

with alpha and beta of at least 0, by least squares of relative errors, (fit - time) / time: times
span decades, and their noise is proportional to them. Where no line describes all sizes, because
the library changes its protocol with the size, there are two or three lines, each for a range of
sizes. Then alpha, the time of an empty message, is that of the smallest sizes, and beta that of the
largest. The sizes at which lines change and the worst error are reported, too.

--among node lets the ranks of each node communicate among themselves, --among across one rank of
each node, all parts at the same time; the slowest rank of all counts. --cuda-graph captures
--number operations and replays them, so that the host's time is not in theirs.

For each size one more operation is made under NCCL, for whose algorithm and protocol it is asked.

The rate is the bus bandwidth of the largest size in GB/s (1e9 bytes per second); an observation is
--number operations.
"""

import argparse
import math
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.comm.alpha_beta import fit
from benchmarks.comm.choice import chosen
from benchmarks.comm.collectives import OPERATIONS, RankTensors, checked_exchange
from benchmarks.comm.subgroups import AMONG, part_of
from benchmarks.common import cli, program
from benchmarks.common.device import peak_memory
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.metrics import Emitter
from benchmarks.common.observations import timed_observations
from benchmarks.common.session import Session, session, start_barrier

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--op", choices=OPERATIONS, default="all_reduce", help="operation")
    add("--min-bytes", type=cli.byte_count, default="1Ki", help="first size")
    add("--max-bytes", type=cli.byte_count, default="64Mi", help="largest size")
    add("--factor", type=cli.positive, default=2, help="factor from one size to the next")
    add("--dtype", choices=DTYPES, default="fp32", help="type of the elements")
    add(
        "--among", choices=AMONG, default="all", help="all ranks, those of a node, one of each node"
    )
    add(
        "--in-place",
        action=argparse.BooleanOptionalAction,
        help="whether the result takes the place of the input; by default as PyTorch's users do",
    )
    add("--cuda-graph", action="store_true", help="replay the operations from a CUDA graph")
    add("--number", type=cli.positive, default=20, help="operations in an observation")
    add("--repeat", type=cli.positive, default=5, help="observations of each size")
    cli.add_seconds(add, "--repeat")
    add(
        "--warmup",
        type=cli.positive,
        default=5,
        help="operations of each size before they are measured",
    )
    return parser


@dataclass(frozen=True)
class Measured:
    """The observations of one size on all ranks."""

    bytes: int
    warmup: int  # operations before the first observation
    number: int  # operations of an observation
    all_ms: Sequence[Sequence[float]]  # milliseconds, by rank; the first of each is the warm-up

    @property
    def ms(self) -> list[Sequence[float]]:
        return [of_rank[1:] for of_rank in self.all_ms]

    @property
    def slowest(self) -> int:
        return max(range(len(self.ms)), key=lambda rank: sum(self.ms[rank]))

    @property
    def seconds(self) -> list[float]:
        return [ms / 1e3 / self.number for ms in self.ms[self.slowest]]

    @property
    def time(self) -> float:
        """Mean time of one operation, in seconds."""
        return math.fsum(self.seconds) / len(self.seconds)


def sizes(least: int, most: int, factor: int, unit: int) -> list[int]:
    """Sizes in bytes from ``least`` to ``most``, each a multiple of ``unit``, none twice."""
    found, size = set(), least
    while size <= most:
        found.add(max(unit, size // unit * unit))
        size = size * factor if factor > 1 else most + 1
    return sorted(found)


def rounded(value: float) -> float | None:
    """The value with six digits, more than any clock has; None if it is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def in_place(args: argparse.Namespace) -> bool:
    """Whether results take the place of inputs; ``UnsupportedError`` if PyTorch cannot do that."""
    possible = OPERATIONS[args.op].in_place
    if args.in_place is None:
        return possible[0]
    if args.in_place not in possible:
        how = "in place" if possible[0] else "out of place"
        raise UnsupportedError(f"PyTorch has {args.op} {how} alone")
    return bool(args.in_place)


def captured(call: Callable[[], object], number: int, device: torch.device) -> Callable[[], None]:
    """A function that replays so many calls from a CUDA graph."""
    if device.type != "cuda":
        raise UnsupportedError(f"--cuda-graph needs a GPU: this device is {device.type}")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(number):
            call()
    return graph.replay


def observe(
    args: argparse.Namespace, run: Session, call: Callable[[], object], part: tuple[int, int]
) -> tuple[int, array]:
    """The operations of the warm-up, and the milliseconds of it and of each observation.

    ``part`` is how many sizes are done, and how many there are.
    """
    number, warmup, times = args.number, args.warmup, (args.seconds, part)
    if args.cuda_graph:
        replay = captured(call, number, run.device)
        replays = math.ceil(warmup / number)
        return replays * number, timed_observations(run, replay, 1, args.repeat, replays, *times)
    return warmup, timed_observations(run, call, number, args.repeat, warmup, *times)


def report_size(
    emitter: Emitter,
    args: argparse.Namespace,
    ranks: int,
    size: Measured,
    choice: Mapping[str, str],
) -> None:
    bandwidth = size.bytes / size.time / 1e9
    row = {
        "op": args.op,
        "backend": dist.get_backend(),
        "dtype": args.dtype,
        "ranks": ranks,
        "among": args.among,
        "in_place": in_place(args),
        "cuda_graph": args.cuda_graph,
        "bytes": size.bytes,
        "operations": size.number * len(size.seconds),
        "time_us": rounded(size.time * 1e6),
        "time_us_best": rounded(min(size.seconds) * 1e6),
        "time_us_worst": rounded(max(size.seconds) * 1e6),
        "algorithm_gb_s": rounded(bandwidth),
        "bus_gb_s": rounded(bandwidth * float(OPERATIONS[args.op].bus_factor(ranks))),
        "slowest_rank": size.slowest,
        "right": True,  # a wrong result ends the program
        **choice,
    }
    emitter.data("main", comm=row)


def report_fit(emitter: Emitter, op: str, table: Sequence[Measured]) -> None:
    """Report alpha and beta of all sizes, if there are several, and where they do not hold."""
    found = fit([(size.bytes, size.time) for size in table])
    if found is None:
        return
    row = {
        "op": op,
        "sizes": len(table),
        "alpha_us": rounded(found.alpha * 1e6),
        "alpha_error_us": rounded(found.alpha_error * 1e6),
        "beta_gb_s": rounded(found.beta / 1e9),
        "beta_error_gb_s": rounded(found.beta_error / 1e9),
        "residual": rounded(found.residual),
        "worst_error": rounded(found.worst_error),
        "worst_bytes": found.worst_bytes,
        "switches": list(found.switches),
    }
    emitter.data("main", comm_fit=row)


def report_rates(emitter: Emitter, bus_factor: float, largest: Measured) -> None:
    """Report the bus bandwidth of the largest size as the rate of the program."""
    bus_gb = largest.bytes * bus_factor / 1e9
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
    args = options().parse_args(argv)
    emitter = Emitter.from_environment()
    with session(args.device, distributed=True) as run:
        group, operation, dtype = run.group, OPERATIONS[args.op], DTYPES[args.dtype]
        if group.world_size < 2:
            raise UnsupportedError("communication needs at least two ranks: use torchrun")
        if args.min_bytes > args.max_bytes:
            raise UnsupportedError(
                f"--min-bytes {args.min_bytes} is above --max-bytes {args.max_bytes}"
            )
        is_in_place, part = in_place(args), part_of(group, args.among)
        ranks = part.ranks
        tensors = RankTensors(part.rank, ranks, group.device, dtype, part.group, is_in_place)
        unit = dtype.itemsize * (ranks if operation.divided else 1)

        table = []
        if group.rank == 0:
            start_barrier(emitter)  # the others wait in the first operation
        all_sizes = sizes(args.min_bytes, args.max_bytes, args.factor, unit)
        for done, bytes_ in enumerate(all_sizes):
            exchange = checked_exchange(args.op, tensors, bytes_ // dtype.itemsize)
            warmup, ms = observe(args, run, exchange.call, (done, len(all_sizes)))
            choice = {}
            if dist.get_backend() == "nccl" and group.rank == 0:
                choice = chosen(exchange.call)
            elif dist.get_backend() == "nccl":
                exchange.call()  # with rank 0
            all_ms = group.gather(ms)
            if group.rank == 0:
                table.append(Measured(bytes_, warmup, args.number, all_ms))
                report_size(emitter, args, ranks, table[-1], choice)

        memories = group.gather(peak_memory(group.device))
        if group.rank == 0:
            report_fit(emitter, args.op, table)
            report_rates(emitter, float(operation.bus_factor(ranks)), table[-1])
            for rank, memory in enumerate(memories):
                if memory is not None:
                    emitter.data("main", rank=rank, memory_peak=memory)


if __name__ == "__main__":
    program.run(main)
