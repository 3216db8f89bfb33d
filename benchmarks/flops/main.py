"""How fast is a device at multiplying matrices? C[m, n] = A[m, k] B[k, n]

    python benchmarks/flops/main.py --m 8192 --n 8192 --dtype bf16

One step is --number products into the same C, so that nothing is allocated while it is measured.
An m x n x k product is m*n*k multiplications and as many additions: 2*m*n*k operations (the
convention of LAPACK and of torch.utils.flop_counter), so

    TFLOP/s = 2 * m * n * k * number / seconds / 1e12
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import cli
from common.precision import PRECISIONS, PURE
from common.session import session


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("--m", type=cli.positive, default=1024, help="rows of A and C")
    parser.add_argument("--n", type=cli.positive, default=1024, help="columns of B and C")
    parser.add_argument("--k", type=cli.positive, help="columns of A, rows of B; None: as --n")
    parser.add_argument("--dtype", choices=PURE, default="fp32", help="type of the elements")
    parser.add_argument("--number", type=cli.positive, default=10, help="products in a step")
    parser.add_argument("--repeat", type=cli.positive, default=30, help="steps measured")
    parser.add_argument("--warmup", type=cli.natural, default=5, help="steps before them")
    parser.add_argument("--seed", type=int, default=0, help="seed of the elements of A and B")
    return parser


def tflop(m: int, n: int, k: int, number: int) -> float:
    """Operations of ``number`` products of m x k and k x n matrices, in 1e12."""
    return 2 * m * n * k * number / 1e12


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    m, n, k = args.m, args.n, args.k or args.n
    with session(args.device) as run:
        precision = PRECISIONS[args.dtype]
        precision.activate(run.device)
        torch.manual_seed(args.seed)
        a = torch.randn(m, k, device=run.device).to(precision.dtype)
        b = torch.randn(k, n, device=run.device).to(precision.dtype)
        c = torch.empty(m, n, device=run.device, dtype=precision.dtype)

        for _ in run.steps(
            repeat(None),
            work=tflop(m, n, k, args.number),
            units="TFLOP",
            count=args.repeat,
            warmup=args.warmup,
            interval=0,  # every step is an observation
        ):
            for _ in range(args.number):
                torch.mm(a, b, out=c)


if __name__ == "__main__":
    main()
