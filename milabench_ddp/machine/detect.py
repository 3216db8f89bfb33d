"""The devices of this host."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import MachineError
from .cores import cpu_count, share, usable_cpus
from .cuda import find_cuda
from .devices import Cluster, Device, Node
from .found import Found
from .host import cpu_name
from .vendors import VENDORS, find_vendor, sign_of
from .visibility import caller_filters

GPU_ARCHS = ("cuda", *VENDORS)
DEFAULT_SLOTS = 2  # the smallest number that needs communication


@dataclass(frozen=True)
class Detection:
    """This host as a cluster of one node, and what a user should be told of it, a line each."""

    cluster: Cluster
    notes: tuple[str, ...]


def detect(device: str | None, count: int | None, environ: Mapping[str, str]) -> Detection:
    """This host and the devices of it to use.

    Args:
        device: cuda, rocm, hpu, xpu or cpu; None for the GPUs that there are, else CPU slots.
        count: how many of the visible devices, the first ones; None for all of them, and for 2
            CPU slots.
        environ: the caller's environment, whose visibility variables are respected.

    Raises:
        MachineError: they are not there, or not so many.
    """
    if count is not None and count < 1:
        raise MachineError(f"--gpus {count}: at least one device is needed")
    if device is None:
        return _automatic(count, environ)
    if device == "cpu":
        return _cpu(count, ())
    if device not in GPU_ARCHS:
        known = (*GPU_ARCHS, "cpu")
        raise MachineError(f"--device {device}: unknown; known are {', '.join(known)}")
    found = _find(device, environ)
    if not found.devices:
        why = "; ".join(found.notes)
        raise MachineError(f"--device {device}: {why}. {_offer(device, environ)}")
    return _gpus(device, found, count, environ)


def _automatic(count: int | None, environ: Mapping[str, str]) -> Detection:
    notes: list[str] = []
    for arch in GPU_ARCHS:
        if arch == "cuda" or sign_of(arch):
            found = _find(arch, environ)
            if found.devices:
                return _gpus(arch, found, count, environ)
            notes += found.notes
    return _cpu(count, (f"this measures the CPU, no GPU: {'; '.join(notes)}",))


def _find(arch: str, environ: Mapping[str, str]) -> Found:
    return find_cuda(environ) if arch == "cuda" else find_vendor(arch, environ)


def _gpus(arch: str, found: Found, count: int | None, environ: Mapping[str, str]) -> Detection:
    there = len(found.devices)
    if count is not None and count > there:
        limits = [f" with {name}={value}" for name, value in caller_filters(arch, environ)]
        why = "".join([*limits, *(f" ({note})" for note in found.notes)])
        raise MachineError(
            f"--gpus {count}: {_counted(arch, found)} can be used here{why}. Ask "
            f"for at most {there}, or for CPU slots with `--device cpu --gpus {count}`"
        )
    return Detection(_host(arch, found.devices[:count]), found.notes)


def _cpu(count: int | None, notes: tuple[str, ...]) -> Detection:
    name = cpu_name()
    slots = enumerate(share(usable_cpus(), DEFAULT_SLOTS if count is None else count))
    return Detection(_host("cpu", tuple(Device(i, str(i), name, cpus=c) for i, c in slots)), notes)


def _host(arch: str, devices: tuple[Device, ...]) -> Cluster:
    # Only the first label: the name becomes a part of tags, whose parts are separated by dots.
    name = socket.gethostname().split(".")[0]
    return Cluster(arch, (Node(name, devices, cpu_count()),))


def _offer(asked: str, environ: Mapping[str, str]) -> str:
    others = {
        arch: _find(arch, environ)
        for arch in GPU_ARCHS
        if arch != asked and (arch == "cuda" or sign_of(arch))
    }
    there = [f"`--device {arch}` ({_counted(arch, f)})" for arch, f in others.items() if f.devices]
    return f"Here there is {' or '.join([*there, '`--device cpu`'])}"


def _counted(arch: str, found: Found) -> str:
    names = " and ".join(sorted({device.name for device in found.devices}))
    count = len(found.devices)
    return f"{count} {arch} device{'' if count == 1 else 's'} ({names})"
