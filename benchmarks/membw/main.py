"""Measures the bandwidth of a device's memory: STREAM's operations on long vectors.

    python benchmarks/membw/main.py --op triad --bytes 1Gi

The operations are those of STREAM (J. D. McCalpin, "Memory bandwidth and machine balance in current
high performance computers", 1995), with s = 3, on vectors of fp32:

    copy    c = a            2 vectors
    scale   b = s c          2
    add     c = a + b        3
    triad   a = b + s c      3

One step is --number operations. As in STREAM and BabelStream, the bytes are those of the vectors
that are read and written; what a cache reads in addition before it writes does not count:

    GB/s = vectors * bytes * number / seconds / 1e9

Vectors have to be much longer than the caches: four times the L2 cache of a GPU at least. The
result of the first operation is checked.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program
from benchmarks.common.data_sheet import memory_gb_s
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.session import session

SCALAR = 3.0
SHORTEST = 64 * 2**20  # bytes of a vector, if no size is asked for
CACHES = 4  # the least length of a vector, in L2 caches


@dataclass(frozen=True)
class Operation:
    """An operation on three vectors of equal length, whose result is in the first."""

    vectors: int  # that it reads and writes
    call: Callable[[Tensor, Tensor, Tensor], Tensor]


OPERATIONS: Mapping[str, Operation] = {
    "copy": Operation(2, lambda a, b, _: a.copy_(b)),
    "scale": Operation(2, lambda a, b, _: torch.mul(b, SCALAR, out=a)),
    "add": Operation(3, lambda a, b, c: torch.add(b, c, out=a)),
    "triad": Operation(3, lambda a, b, c: torch.add(b, c, alpha=SCALAR, out=a)),
}
EXPECTED: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "copy": lambda b, _: b,
    "scale": lambda b, _: SCALAR * b,
    "add": lambda b, c: b + c,
    "triad": lambda b, c: b + SCALAR * c,
}


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--op", choices=OPERATIONS, default="triad", help="operation")
    text = "size of a vector; by default 64Mi, on a GPU at least four times its L2 cache"
    add("--bytes", type=cli.byte_count, help=text)
    add("--number", type=cli.positive, default=10, help="operations in a step")
    add("--repeat", type=cli.positive, default=30, help="number of measured steps")
    cli.add_seconds(add, "--repeat")
    add("--warmup", type=cli.natural, default=5, help="steps before the measured ones")
    add("--seed", type=int, default=0, help="seed of the elements")
    return parser


def length(device: torch.device, asked: int | None) -> int:
    """The bytes of a vector: as ``asked``, else a power of two that is long enough.

    Raises ``UnsupportedError`` if vectors of so many bytes stay in the cache of a GPU.
    """
    cache = 0
    if device.type == "cuda":
        cache = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
    least = CACHES * cache
    if asked is None:
        return max(SHORTEST, 1 << (least - 1).bit_length())
    if asked < least:
        raise UnsupportedError(
            f"vectors of {asked} bytes stay in the L2 cache of {cache}: --bytes {least} or more"
        )
    return asked


def check_result(name: str, vectors: Sequence[Tensor]) -> None:
    """Raise ``RuntimeError`` if the operation computes something else than it should."""
    operation = OPERATIONS[name]
    found = operation.call(*vectors)
    _, b, c = vectors
    for part in (slice(None, 4096), slice(-4096, None)):
        expected = EXPECTED[name](b[part].cpu().double(), c[part].cpu().double())
        if not torch.allclose(found[part].cpu().double(), expected, rtol=1e-6, atol=1e-6):
            raise RuntimeError(f"{name} of {len(found)} numbers gave a wrong result")


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    operation = OPERATIONS[args.op]
    with session(args.device) as run:
        numbers = max(length(run.device, args.bytes) // 4, 1)
        torch.manual_seed(args.seed)
        vectors = [torch.rand(numbers, device=run.device) for _ in range(3)]
        check_result(args.op, vectors)
        bytes_ = 4 * len(vectors[0])
        moved = operation.vectors * bytes_ * args.number / 1e9
        for _ in run.steps(
            repeat(None),
            work=moved,
            units="GB",
            count=args.repeat,
            warmup=args.warmup,
            seconds=args.seconds,
            interval=0,  # every step is an observation
        ):
            for _ in range(args.number):
                operation.call(*vectors)
        row = {
            "path": args.op,
            "bytes": bytes_,
            "gb_s": moved / (run.mean_ms / 1e3),
            "data_sheet_gb_s": memory_gb_s(run.device),
        }
        run.report(bandwidth=row)


if __name__ == "__main__":
    program.run(main)
