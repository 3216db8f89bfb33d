"""The devices to use: of this host, of a part of it, or of a synthetic cluster."""

import os
import shutil
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..errors import MachineError, count_text
from .backends import BACKENDS
from .backends.backend import Backend, DiscoveryResult
from .devices import MOST_DEVICES, Cluster, Device, Node
from .host import cpu_count, cpu_list, usable_cpus

PATIENCE = (
    90.0  # seconds for a driver: eight GPUs that wake up take up to 30, and torch may be asked
)
CPUS_PER_DEVICE = 8  # fixed, so that what `dry` prints does not depend on where it is printed


def detect(device: str | None, count: int | None, environ: Mapping[str, str]) -> Cluster:
    """This host, as a cluster of one node, and the devices to use on it.

    Args:
        device: a name of BACKENDS; None for the GPUs of this host, or CPU slots if it has none.
        count: how many of the visible devices to use, the first ones; None for all of them, or for
            2 CPU slots.
        environ: the caller's environment, whose visibility variables are respected.

    Raises:
        MachineError: this host has no such devices, or fewer than ``count``.
    """
    if count is not None and count < 1:
        raise MachineError(f"--gpus {count}: at least one device is needed")
    refuse_too_many(count or 1)
    if device is None:
        backend, found = _first_with_devices(count, environ)
    elif device in BACKENDS:
        backend = BACKENDS[device]
        found = _discovered(backend, count, environ)
    else:
        raise MachineError(f"--device {device}: unknown; choose from {', '.join(BACKENDS)}")
    if not found.devices:
        why = "; ".join(found.notes)
        raise MachineError(f"--device {device}: {why}. To measure the CPU: --device cpu")
    available = len(found.devices)
    if count is not None and count > available:
        why = ""
        for name, value in backend.caller_filters(environ):
            why += f" with {name}={value}"
        for note in found.notes:
            why += f" ({note})"
        usable = count_text(available, f"{backend.name} device")
        raise MachineError(
            f"--gpus {count}: {usable} can be used here{why}. Ask for at most {available}, or for "
            f"CPU slots with `--device cpu --gpus {count}`"
        )
    # Only the first label: the name becomes a part of tags, whose parts are separated by dots.
    hostname = os.uname().nodename.split(".")[0]
    node = Node(hostname, found.devices[:count], cpu_count(), found.notes)
    return Cluster(backend.name, (node,), 0 if backend.name == "cpu" else available)


def partition(device: str, gpus: int, rank: int, nodes: int, environ: Mapping[str, str]) -> Node:
    """Node ``rank`` where this host stands in for ``nodes`` nodes.

    Each has ``gpus`` devices of its own, and its part of the CPUs.
    """
    refuse_too_many(gpus, nodes)
    host = detect(device, gpus * nodes, environ).nodes[0]
    mine = host.devices[rank * gpus : (rank + 1) * gpus]
    return Node(f"node{rank}", mine, max(1, host.cpu_count // nodes), host.notes)


def synthetic_cluster(arch: str, nodes: int, gpus: int, cpus: int | None = None) -> Cluster:
    """A cluster that does not exist, for a dry run on a laptop: what would 64 GPUs do?

    It has ``nodes`` nodes (``node0``, ``node1``, ...) with ``gpus`` devices and ``cpus`` CPUs each,
    or 8 CPUs for each device. CPU slots are not bound to cores: those of an unknown machine cannot
    be named, and a script that binds to missing cores does not run.
    """
    refuse_too_many(gpus, nodes)
    devices = tuple(Device(index, str(index)) for index in range(gpus))
    cpus = cpus or gpus * CPUS_PER_DEVICE
    made = tuple(Node(f"node{rank}", devices, cpus) for rank in range(nodes))
    return Cluster(arch, made, is_synthetic=True)


def refuse_too_many(gpus: int, nodes: int = 1) -> None:
    if gpus * nodes > MOST_DEVICES:
        of = f" of each of {nodes:,} nodes" if nodes > 1 else ""
        raise MachineError(
            f"{gpus:,} devices{of}: at most {MOST_DEVICES:,} devices can be planned: "
            "give fewer with --gpus or --nodes"
        )


def _first_with_devices(
    count: int | None, environ: Mapping[str, str]
) -> tuple[Backend, DiscoveryResult]:
    """The first back-end that has a device; CPU slots come last, and are always there."""
    missing: list[str] = []
    for backend in BACKENDS.values():
        if backend.name == "cpu" or not backend.may_be_present():
            continue
        found = _discovered(backend, count, environ)
        if found.devices:
            return backend, found
        missing += found.notes
    cpu = BACKENDS["cpu"]
    note = f"this measures the CPU, not a GPU: {'; '.join(missing)}"
    return cpu, DiscoveryResult(cpu.discover(environ, count).devices, (note,))


def _discovered(backend: Backend, count: int | None, environ: Mapping[str, str]) -> DiscoveryResult:
    if backend.name == "cpu":
        return backend.discover(environ, count)
    from ..in_time import in_time  # threads, which planning for a CPU does without

    try:
        found = in_time(lambda: backend.discover(environ, count), PATIENCE)
    except TimeoutError:
        raise MachineError(
            f"--device {backend.name}: its driver has not told its devices in {PATIENCE:g} s: look "
            f"for Xid in dmesg, and restart the machine. To measure the CPU: --device cpu"
        ) from None
    return bound(found, usable_cpus(), has_taskset=shutil.which("taskset") is not None)


def bound(found: DiscoveryResult, usable: Sequence[int], *, has_taskset: bool) -> DiscoveryResult:
    """The devices with those of their near cores that this process may use. Pure.

    They are empty where that is all that it may use, or where nothing can be bound, as notes say.
    """
    devices: list[Device] = []
    notes = list(found.notes)
    for device in found.devices:
        near = tuple(cpu for cpu in device.cpus if cpu in usable)
        if device.cpus and not near:
            far = f"GPU {device.index} is next to cores {cpu_list(device.cpus)}"
            notes.append(f"{far}, and this process may use {cpu_list(usable)} alone: not bound")
        is_free = len(near) == len(usable)
        devices.append(replace(device, cpus=() if is_free else near))
    if not has_taskset and any(device.cpus for device in devices):
        notes.append("no `taskset` (util-linux): no process is bound to the cores next to its GPU")
        devices = [replace(device, cpus=()) for device in devices]
    return DiscoveryResult(tuple(devices), tuple(notes))
