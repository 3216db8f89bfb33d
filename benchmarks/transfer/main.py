"""Measures how fast a device exchanges data with the memory of its host.

    python benchmarks/transfer/main.py --direction h2d --memory pinned

One step is --number copies of --bytes: from host to device (h2d), from device to host (d2h), or
both ways at the same time, in two streams (both):

    GB/s = ways * bytes * number / seconds / 1e9

Pinned memory is read by the device itself (DMA). Pageable memory, which is what most programs have,
is first copied into pinned memory by the driver. With the plan method per_gpu all devices of a node
copy at the same time, and share the memory of the host and the switches on the way.

The first copy is checked. A CPU has no device memory: copies are then those of its own memory.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program
from benchmarks.common.data_sheet import link_gb_s
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.session import session

DIRECTIONS = ("h2d", "d2h", "both")
MEMORIES = ("pinned", "pageable")
PERIOD = 251  # of the data: a prime, so that no block of a copy is like another


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--direction", choices=DIRECTIONS, default="h2d", help="from host to device, back, or both")
    add("--memory", choices=MEMORIES, default="pinned", help="kind of the host's memory")
    add("--bytes", type=cli.byte_count, default="64Mi", help="size of a copy")
    add("--number", type=cli.positive, default=10, help="copies in a step, each way")
    add("--repeat", type=cli.positive, default=30, help="number of measured steps")
    cli.add_seconds(add, "--repeat")
    add("--warmup", type=cli.natural, default=5, help="steps before the measured ones")
    return parser


@dataclass(frozen=True)
class Way:
    """One direction: a buffer in the host's memory and one in the device's."""

    source: Tensor
    target: Tensor

    def copy(self) -> None:
        """Queue a copy; from pageable memory it is complete when this returns."""
        self.target.copy_(self.source, non_blocking=True)

    def check(self) -> None:
        """Raise ``RuntimeError`` if the target is not what the source is."""
        if not torch.equal(self.source.cpu(), self.target.cpu()):
            raise RuntimeError(f"a copy of {self.source.numel()} bytes gave other data")


def ways(direction: str, bytes_: int, device: torch.device, *, pinned: bool) -> list[Way]:
    """The buffers of each direction, filled with bytes that differ."""
    if pinned and device.type == "cpu":
        raise UnsupportedError("pinned memory is for copies to a GPU: use --memory pageable")
    found = []
    for each in ("h2d", "d2h"):
        if direction not in (each, "both"):
            continue
        host = torch.arange(PERIOD, dtype=torch.uint8).repeat(-(-bytes_ // PERIOD))[:bytes_]
        if pinned:
            host = host.pin_memory()
        there = torch.zeros(bytes_, dtype=torch.uint8, device=device)
        if each == "h2d":
            found.append(Way(host, there))
        else:
            there.copy_(host)
            found.append(Way(there, host.zero_()))
    return found


def copies(of: Sequence[Way], number: int, device: torch.device) -> Callable[[], None]:
    """A function that copies so many times each way; two ways have a stream each.

    The current stream waits for both, so that the marks of a step stand around all copies.
    """
    if len(of) == 1 or device.type == "cpu":

        def in_turn() -> None:
            for _ in range(number):
                for way in of:
                    way.copy()

        return in_turn

    module = torch.get_device_module(device)
    streams = [module.Stream(device) for _ in of]

    def at_once() -> None:
        current = module.current_stream(device)
        for stream in streams:
            stream.wait_stream(current)
        # In turns: a copy from pageable memory keeps the host busy until it is done.
        for _ in range(number):
            for way, stream in zip(of, streams, strict=True):
                with module.stream(stream):
                    way.copy()
        for stream in streams:
            current.wait_stream(stream)

    return at_once


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    with session(args.device) as run:
        found = ways(args.direction, args.bytes, run.device, pinned=args.memory == "pinned")
        copy = copies(found, args.number, run.device)
        copy()
        for way in found:
            way.check()
        moved = len(found) * args.bytes * args.number / 1e9
        for _ in run.steps(
            repeat(None),
            work=moved,
            units="GB",
            count=args.repeat,
            warmup=args.warmup,
            seconds=args.seconds,
            interval=0,  # every step is an observation
        ):
            copy()
        link = link_gb_s(run.device)
        row = {
            "path": f"{args.direction} {args.memory}",
            "bytes": args.bytes,
            "gb_s": moved / (run.mean_ms / 1e3),
            "data_sheet_gb_s": link and len(found) * link,
        }
        run.report(bandwidth=row)


if __name__ == "__main__":
    program.run(main)
