"""Measures how fast a device multiplies matrices: C[m, n] = A[m, k] B[k, n]

    python benchmarks/flops/main.py --m 8192 --n 8192 --dtype bf16
    python benchmarks/flops/main.py --m 8192 --n 8192 --dtype bf16 --sweep

One step is --number products into the same C, so that nothing is allocated while it is measured.
An m x n x k product is m*n*k multiplications and as many additions: 2*m*n*k operations (the
convention of LAPACK and of torch.utils.flop_counter), so

    TFLOP/s = 2 * m * n * k * number / seconds / 1e12

fp8 is torch._scaled_mm of float8_e4m3 matrices with a scale of 1 into a bf16 C, with fast
accumulation: the product in the forward pass of fp8 training.

No shape reaches the peak of the data sheet, and shapes differ by tens of per cent. --sweep first
measures several shapes around the given one, three steps of each after one that is not timed. Then
it measures the best of them again, as above: the measured peak (MAMF, maximum achievable matrix
FLOP/s). MFU relative to this peak is the loss of a training program without that of the hardware.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.observations import timed_observations
from benchmarks.common.precision import PRECISIONS, PURE, fp8_type, require_fp8
from benchmarks.common.session import Session, session

Shape = tuple[int, int, int]  # m, n, k

FP8 = "fp8"
MULTIPLE = 16  # sides of swept shapes are multiples of this; fp8 needs it for n and k
SWEPT_STEPS = 3
# Shapes of a sweep, relative to the m, n, k given: smaller, larger, deep and flat.
SWEEP = (
    (1, 1, 1), (0.5, 0.5, 0.5), (0.75, 0.75, 0.75), (1.5, 1.5, 1.5), (0.25, 0.25, 1.5),
    (0.5, 0.5, 2), (1, 1, 0.5), (1, 2, 0.5), (0.75, 2, 0.375),
)  # fmt: skip


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    parser.add_argument("--m", type=cli.positive, default=1024, help="rows of A and C")
    parser.add_argument("--n", type=cli.positive, default=1024, help="columns of B and C")
    parser.add_argument("--k", type=cli.positive, help="columns of A, rows of B; by default --n")
    parser.add_argument(
        "--dtype", choices=(*PURE, FP8), default="fp32", help="type of the elements"
    )
    parser.add_argument("--sweep", action="store_true", help="measure the best of a few shapes")
    parser.add_argument("--number", type=cli.positive, default=10, help="products in a step")
    parser.add_argument("--repeat", type=cli.positive, default=30, help="number of measured steps")
    cli.add_seconds(parser.add_argument, "--repeat")
    parser.add_argument(
        "--warmup", type=cli.natural, default=5, help="steps before the measured ones"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the elements of A and B")
    return parser


def tflop(m: int, n: int, k: int, number: int) -> float:
    """Operations, in 1e12, of ``number`` products of m x k and k x n matrices."""
    return 2 * m * n * k * number / 1e12


def shapes(m: int, n: int, k: int) -> list[Shape]:
    """The shapes of a sweep, beginning with the given one."""
    found = {(m, n, k): None}  # a dict, because it keeps the order
    for parts in SWEEP[1:]:
        found[tuple(map(swept_side, (m, n, k), parts))] = None
    return list(found)


def swept_side(side: int, part: float) -> int:
    """A part of ``side``, rounded down to a multiple of ``MULTIPLE``."""
    return max(MULTIPLE, int(side * part) // MULTIPLE * MULTIPLE)


def check_fp8(device: torch.device, n: int, k: int) -> None:
    """Raise ``UnsupportedError`` if the device has no fp8, or fp8 does not allow these sides."""
    require_fp8(device)
    if n % MULTIPLE or k % MULTIPLE:
        raise UnsupportedError(
            f"fp8 needs multiples of {MULTIPLE} for --n and --k: they are {n} and {k}"
        )


def product(
    shape: Shape, dtype: str, device: torch.device, seed: int
) -> tuple[Callable[[], object], torch.Tensor]:
    """A function that multiplies two random matrices, and its result matrix."""
    m, n, k = shape
    torch.manual_seed(seed)
    if dtype != FP8:
        precision = PRECISIONS[dtype]
        a = torch.randn(m, k, device=device).to(precision.dtype)
        b = torch.randn(k, n, device=device).to(precision.dtype)
        c = torch.empty(m, n, device=device, dtype=precision.dtype)
        return lambda: torch.mm(a, b, out=c), c
    fp8 = fp8_type(device)
    a = torch.randn(m, k, device=device).to(fp8)
    b = torch.randn(n, k, device=device).to(fp8).t()  # column by column
    c = torch.empty(m, n, device=device, dtype=torch.bfloat16)
    one = torch.ones((), device=device)
    scaled = torch._scaled_mm
    return lambda: scaled(a, b, one, one, out_dtype=c.dtype, use_fast_accum=True, out=c), c


def sweep(args: argparse.Namespace, given: Shape, run: Session) -> Shape:
    """The fastest shape around the given one; the speed of each is reported."""
    speeds: dict[Shape, float] = {}
    swept = shapes(*given)
    for done, shape in enumerate(swept):
        multiply, _ = product(shape, args.dtype, run.device, args.seed)
        part = done, 2 * len(swept)  # as much time is left for the best of them
        ms = timed_observations(run, multiply, args.number, SWEPT_STEPS, args.number, part=part)
        # A device's events tick in half microseconds: a tiny product can take none.
        seconds = max(math.fsum(ms[1:]), 1e-6) / 1e3
        speeds[shape] = tflop(*shape, args.number * len(ms[1:])) / seconds
        m, n, k = shape
        speed = float(f"{speeds[shape]:.6g}")
        row = {"m": m, "n": n, "k": k, "dtype": args.dtype, "tflop_s": speed}
        run.report(sweep=row)
    return max(speeds, key=speeds.__getitem__)


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    shape = (args.m, args.n, args.k or args.n)
    with session(args.device) as run:
        if args.dtype == FP8:
            check_fp8(run.device, *shape[1:])
        else:
            PRECISIONS[args.dtype].activate(run.device)
        run.report(compute_dtype=args.dtype)
        if args.sweep:
            shape = sweep(args, shape, run)
        multiply, _ = product(shape, args.dtype, run.device, args.seed)

        for _ in run.steps(
            repeat(None),
            work=tflop(*shape, args.number),
            units="TFLOP",
            count=args.repeat,
            warmup=args.warmup,
            seconds=args.seconds,
            interval=0,  # every step is an observation
        ):
            for _ in range(args.number):
                multiply()


if __name__ == "__main__":
    program.run(main)
