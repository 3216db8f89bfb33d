"""Checks that a device computes the same bits again, and the same bits as its like.

    python benchmarks/bits/main.py --width 4096 --dtype bf16

A small transformer trains --steps steps, then the same steps again from the same weights, and so
on. Each tensor of each step (products, attention, norms, gradients, weights) has a digest, made on
the device: benchmarks/bits/digests.py says why it shows the change of any bit. Each pass is
compared with the first one, here; the first passes of devices are compared in the report.

Only what has to be equal is compared. Kernels that add in another order each time are forbidden
(torch.use_deterministic_algorithms): where torch has no other, the program ends and says so. The
digests of two devices are compared if all that decides the order of additions is the same: the
product, the versions of torch and its libraries, the threads of a CPU, the options.

    steps/s = steps / seconds

A step is one training step with the digests of its tensors.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.bits.digests import WHOLE, Digests, RepeatedPasses
from benchmarks.bits.network import Network
from benchmarks.common import cli, program
from benchmarks.common.device import told
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.precision import PRECISIONS, PURE
from benchmarks.common.session import Session, session

DECIDES = ("kind", "name", "capability", "torch", "cuda", "hip", "cudnn")  # the order of additions

FLIPPED = "layer 1 up: product"  # where a planted bit flips


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--width", type=cli.positive, default=256, help="numbers of a token in the network")
    add("--tokens", type=cli.positive, default=256, help="tokens of a step")
    add("--dtype", choices=PURE, default="fp32", help="type of weights and products")
    add("--steps", type=cli.positive, default=16, help="training steps of a pass")
    add(
        "--again", type=cli.positive, default=1, help="passes from the same weights after the first"
    )
    cli.add_seconds(add, "--again")
    add("--seed", type=int, default=0, help="seed of weights and data")
    return parser


@contextmanager
def deterministic() -> Iterator[None]:
    """Within the block an operation that has no deterministic kernel raises."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read at the first product
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        said = " ".join(str(error).split())
        raise UnsupportedError(f"no two runs have to be equal on this device: {said}") from error
    finally:
        torch.use_deterministic_algorithms(before)


def like(device: torch.device, args: argparse.Namespace) -> dict[str, Any]:
    """What two devices must have in common to compute the same bits."""
    facts = told(device)
    common = {name: facts[name] for name in DECIDES if name in facts}
    if device.type == "cpu":
        vectors = torch.backends.cpu.get_cpu_capability()
        common |= {"threads": facts["threads"], "vectors": vectors}
    else:
        found = torch.get_device_module(device).get_device_properties(device)
        common["processors"] = getattr(found, "multi_processor_count", None)
    asked = ("width", "tokens", "dtype", "steps", "seed")
    return common | {name: getattr(args, name) for name in asked}


def flip(values: Tensor) -> None:
    """Flip the last bit of the mantissa of the first element."""
    values.detach().view(-1)[:1].view(WHOLE[values.element_size()]).bitwise_xor_(1)


def check(run: Session, args: argparse.Namespace) -> None:
    precision = PRECISIONS[args.dtype]
    precision.activate(run.device)
    digests, passes = Digests(run.device), RepeatedPasses(args.steps)
    size = args.width, args.tokens

    def seen(name: str, values: Tensor) -> None:
        if name == FLIPPED and run.plants.flips(passes.done, args.steps):
            flip(values)
        digests.add(name, values)

    network = Network(*size, precision.dtype, run.device, args.seed, seen)
    names: list[str] = []
    for _ in run.steps(
        count(),
        work=1,
        units="steps",
        # One step more of warm-up, so that the digests are told before anything is measured.
        warmup=args.steps + 1,
        count=max(args.steps * args.again - 1, 1),
        seconds=args.seconds,
    ):
        if passes.first_is_done:
            names = list(digests.names)
            run.report(bits={"like": like(run.device, args), "tensors": names})
            for digests_of_step in passes.told():
                run.report(bits={"digests": digests_of_step})
        if passes.done % args.steps == 0:
            network.restart()
        digests.start()
        run.log_loss(network.step())
        passes.take(digests.take())
    run.report(bits=passes.verdict(names), compute_dtype=precision.compute_dtype)


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    with session(args.device) as run, deterministic():
        check(run, args)


if __name__ == "__main__":
    program.run(main)
