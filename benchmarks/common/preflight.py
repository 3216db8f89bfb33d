"""Checks that torch can use the GPUs of a node, before anything is measured on them.

    MILABENCH_DEVICE=cuda python benchmarks/common/preflight.py '{"uuids": [null], "compiled": []}'

``milabench run`` starts it with the interpreter and the environment of benchmarks. ``uuids`` are
those that the driver's library has for the visible devices, in their order, or null; ``compiled``
names the benchmarks that need Triton; ``loaders`` has name, program and arguments of those that may
load data, where a plan is known, and ``processes`` says how many of each run on the node. It writes
JSON objects, one on each line: each ``stage`` that begins; a ``warning``; the ``problem`` because
of which nothing can be measured; or ``done``.
"""

import ctypes
import json
import math
import os
import runpy
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common.failure import UnsupportedError

PR_SET_PDEATHSIG = 1
SIDE = 256  # of the matrices
MIB, GIB = 2**20, 2**30
NCCL = 33 * MIB  # of shared memory, for each process
UNKNOWN = GIB  # for each process, if no plan is known

Tell = Callable[..., None]


def check(uuids: Sequence[str | None], tell: Tell) -> None:
    """Let torch use every device; raises ``UnsupportedError`` with the sentence that says why not.

    ``uuids`` are those that the devices should have, in their order.
    """
    tell(stage="imports torch")
    try:
        import torch

        from benchmarks.common import device
    except (ImportError, OSError) as error:  # OSError: a library that torch needs is not there
        raise UnsupportedError(f"torch cannot be imported: {error}") from error
    kind = os.environ[device.PLANNED]
    tell(stage=f"initialises {kind}")
    places = [torch.device(kind, k) for k in range(device.usable(kind))]
    if differs := difference([device.uuid_of(place) for place in places], uuids):
        raise UnsupportedError(differs)
    for place in places:
        tell(stage=f"multiplies matrices on {place}")
        with device.explained(place):
            multiply(place)
    tell(stage="reduces a tensor over one rank")
    with device.explained("its library for collectives"):
        all_reduce()


def difference(found: Sequence[str | None], known: Sequence[str | None]) -> str:
    """The sentence on the devices of torch that are not those of the driver's library.

    Both are UUIDs in the order of the devices; those that are not known are not compared.
    """
    advice = f"look at CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES')}"
    advice += ", and at what changes it after the plan"
    if len(found) != len(known):
        return f"torch finds {len(found)} of {len(known)} GPUs of the plan: {advice}"
    for number, (mine, planned) in enumerate(zip(found, known, strict=True)):
        if None not in (mine, planned) and mine != planned:
            return f"torch's GPU {number} is {mine}, and the plan's is {planned}: {advice}"
    return ""


def multiply(device: "torch.device") -> None:
    """Multiply two matrices on a device; a wrong product is a ``RuntimeError``."""
    import torch

    ones = torch.ones(SIDE, SIDE, device=device)
    if not bool((ones @ ones == SIDE).all()):
        raise RuntimeError("the product of two matrices of ones is wrong")


def all_reduce() -> None:
    """Sum over a group of this process alone, on its first device."""
    import torch
    import torch.distributed as dist

    from benchmarks.common.group import Group

    group = Group.join(None)
    ones = torch.ones(SIDE, device=group.device)
    dist.all_reduce(ones)
    if not bool((ones == 1).all()):
        raise RuntimeError("the sum over one rank is wrong")
    group.leave()


def warnings(
    processes: int,
    compiled: Sequence[str],
    loaders: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    shm: Path = Path("/dev/shm"),
) -> Iterator[str]:
    """The sentences on what some benchmarks will lack."""
    free = shutil.disk_usage(shm).free if shm.is_dir() else 0
    held = [(shared_bytes(Path(program), argv), name) for name, program, argv in loaders or ()]
    most, name = max(held, default=(0, ""))
    needed = processes * (UNKNOWN if loaders is None else NCCL + most)
    if free < needed:
        yield (
            f"{shm} has {free // MIB:,} MiB free, of {needed // MIB:,} that are needed"
            f"{f' by {name}' if most else ''}: NCCL takes 33 MiB for each process, and each worker "
            f"of a loader two batches; start the container with --shm-size="
            f"{math.ceil(needed / GIB)}g or --ipc=host"
            f"{', or give its loader fewer workers' if most else ''}"
        )
    headers = Path(sysconfig.get_paths()["include"], "Python.h")
    if compiled and not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        yield f"Triton needs a C compiler, and gcc is missing: {_will_fail(compiled)}"
    elif compiled and not headers.is_file():
        yield f"Triton needs {headers}, which python's -dev package has: {_will_fail(compiled)}"


def shared_bytes(program: Path, argv: Sequence[str]) -> int:
    """The shared memory that a process of this suite's programs holds; 0 for others."""
    from benchmarks.common import data

    if not program.is_relative_to(Path(__file__).resolve().parents[1]):
        return 0  # what it does when it is imported is not known
    try:
        return data.shared_bytes(runpy.run_path(str(program))["options"]().parse_args(argv))
    except (Exception, SystemExit):  # noqa: BLE001 - it tells what is wrong when it runs
        return 0


def _will_fail(names: Sequence[str]) -> str:
    return f"{', '.join(names)} will fail"


def main(words: str) -> None:
    """Run the checks, and tell what they find on standard output."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it may outlive its parent and hang
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        os.environ.pop(name, None)
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print on standard output, too

    def tell(**fields: object) -> None:
        os.write(out, json.dumps(fields).encode() + b"\n")

    given = json.loads(words)
    try:
        check(given["uuids"], tell)
    except UnsupportedError as error:
        tell(problem=str(error))
    else:
        processes = given.get("processes", len(given["uuids"]))
        for sentence in warnings(processes, given["compiled"], given.get("loaders")):
            tell(warning=sentence)
        tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1])
