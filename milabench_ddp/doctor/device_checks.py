"""Checks the devices, whether torch can use them, and what else its programs need."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, requires
from pathlib import Path
from subprocess import TimeoutExpired

from ..dispatch.gpu_preflight import CHECKED, check_command, visible_together
from ..errors import MachineError
from ..machine.backends import BACKENDS
from ..machine.devices import Cluster
from ..machine.preflight import run_check
from ..machine.provenance import torch_build
from ..plan.methods import device_variables
from .diagnosis import Diagnosis, error, ok, warning

_NVIDIA, _DISPLAY = "0x10de", "0x03"  # the vendor of a PCI device, and how its class begins
_LOST = "is left out"  # in what the back-end notes of a GPU that cannot be used


def devices(cluster: Cluster, described: str, root: Path = Path("/")) -> Iterator[Diagnosis]:
    node = cluster.nodes[0]
    facts = BACKENDS[cluster.arch].accelerators(node.devices)
    if driver := facts.get("driver"):
        described += f", driver {driver} for CUDA up to {facts['cuda_driver']}"
    gpus = 0 if cluster.has_gpu else _nvidia_gpus(root)
    if gpus and node.notes:
        yield error(f"this machine has {gpus} NVIDIA GPUs; {'; '.join(node.notes)}")
    else:
        notes = () if cluster.has_gpu else node.notes
        yield ok("; ".join([described, *notes]))
        for note in node.notes if cluster.has_gpu else ():
            yield (error if _LOST in note else warning)(note)


def _nvidia_gpus(root: Path) -> int:
    found = 0
    for device in root.glob("sys/bus/pci/devices/*"):
        with suppress(OSError):
            kind = (device / "vendor").read_text().strip(), (device / "class").read_text()[:4]
            found += kind == (_NVIDIA, _DISPLAY)
    return found


def packages() -> Iterator[Diagnosis]:
    needed: list[str] = []
    with suppress(PackageNotFoundError):  # a checkout on the import path
        needed = [each for each in requires("milabench_ddp") or () if "extra ==" not in each]
    names = [re.split(r"[^\w.-]", each)[0] for each in needed]
    if absent := " ".join(name for name in names if not any(distributions(name=name))):
        yield warning(
            f"{absent}: not installed, so not all benchmarks run here; `dry`, `report` and "
            f"`compare` do",
            f"pip install {absent}",
        )
    elif names:
        yield ok(f"all {len(names)} that are required are installed")


def torch(cluster: Cluster, limit: float) -> Iterator[Diagnosis]:
    """Whether torch computes on the devices, and what its programs lack, within ``limit`` s."""
    backend, part = BACKENDS[cluster.arch], visible_together(cluster.nodes[0])[0]
    name = f"torch {torch_build(sys.path).get('torch', '')}"
    if backend.torch_device not in (*CHECKED, "cpu"):
        yield ok(f"{name}: not checked on {cluster.arch}")
        return
    if name == "torch ":
        yield (error if cluster.has_gpu else warning)("torch is not installed", "pip install torch")
        return
    devices = part.devices if cluster.has_gpu else part.devices[:1]
    command = check_command(cluster.arch, devices, sys.executable, compiled=["torch.compile"])
    environ = {**os.environ, **device_variables(cluster.arch, devices, 1)}
    try:
        lacking = run_check(command, environ, limit)["warnings"]
    except MachineError as raised:
        if isinstance(raised.__cause__, TimeoutExpired):  # so it is not known
            said, _, advice = str(raised).partition(": ")
            yield warning(f"{name}: {said}", advice)
        else:
            yield error(f"{name}: {raised}")
        return
    where = f"{len(devices)} GPUs" if cluster.has_gpu else "the CPU"
    yield ok(f"{name} computes on {where} and reduces with {backend.collectives}")
    for sentence in lacking:
        said, _, advice = sentence.partition("; ")
        yield warning(said, advice)
    if not lacking:
        yield ok("/dev/shm has room, and torch.compile finds a C compiler")
