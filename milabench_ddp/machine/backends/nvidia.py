"""NVIDIA's GPUs: which of them a process may use, their facts, and their samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from ...errors import MachineError
from ..devices import Device
from ..host import cpu_list, other_process
from .backend import Backend, DiscoveryResult, DriverError, Reading, select
from .nvml import (
    Gpu,
    Inventory,
    T,
    ask,
    inventory,
    near_cpus,
    open_device,
    processes,
    read_memory,
    session,
)
from .nvml_links import fabric_state, nvlinks
from .torch_gpus import seen_by_torch


class NvidiaBackend(Backend):
    """GPUs of NVIDIA, through NVML."""

    name = "cuda"
    collectives = "nccl"
    torch_device = "cuda"
    visibility_variable = "CUDA_VISIBLE_DEVICES"
    caller_variables = (("CUDA_VISIBLE_DEVICES",),)

    def discover(self, environ: Mapping[str, str], count: int | None) -> DiscoveryResult:
        del count
        try:
            with session() as nvml:
                known = inventory(nvml)
        except DriverError as error:
            if not self.has_node():
                return DiscoveryResult((), (str(error),))
            devices, said = seen_by_torch(error, environ, of_amd=False)
            known = Inventory(tuple(map(Gpu, devices)), (said,))
        return visible_devices(known, environ)

    def has_node(self, root: Path = Path("/")) -> bool:
        """Whether the kernel shows a GPU to this process."""
        return any(root.glob("dev/nvidia*"))

    def environment(self, devices: Sequence[Device]) -> Mapping[str, str]:
        if all(device.id.isdecimal() for device in devices):
            return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        return {}

    def accelerators(self, devices: Sequence[Device]) -> dict[str, Any]:
        found = super().accelerators(devices)
        with suppress(DriverError), session() as nvml:
            for gpu in found["gpus"].values():
                handle = ask(nvml, open_device, nvml, gpu["id"])
                if handle is not None:
                    _describe(nvml, handle, gpu)
            cuda = ask(nvml, nvml.nvmlSystemGetCudaDriverVersion)
            found["driver"] = ask(nvml, nvml.nvmlSystemGetDriverVersion)
            found["cuda_driver"] = cuda and f"{cuda // 1000}.{cuda % 1000 // 10}"
            found["nvml"] = ask(nvml, nvml.nvmlSystemGetNVMLVersion)
        return found

    def others(self, devices: Sequence[Device]) -> Sequence[str]:
        found: list[str] = []
        with suppress(DriverError), session() as nvml:
            for device in devices:
                handle = ask(nvml, open_device, nvml, device.id)
                for process in ask(nvml, processes, nvml, handle) or ():
                    who = other_process(
                        process.pid, f"a process that is not seen here (pid {process.pid})"
                    )
                    used = process.usedGpuMemory
                    memory = f", with {used / 2**30:.1f} GiB" if used else ""
                    if who:
                        found.append(
                            f"GPU {device.index} is used by {who}{memory}: "
                            "what it does is in the numbers"
                        )
        return found

    @contextmanager
    def source(self, devices: Sequence[Device]) -> Iterator[Callable[[], Reading]]:
        from .nvml_sensors import read_all  # only a run samples

        with session() as nvml, read_all(nvml, devices) as read:
            yield read


def visible_devices(known: Inventory, environ: Mapping[str, str]) -> DiscoveryResult:
    """The devices of ``known`` that CUDA would show under ``environ``, in its order. Pure.

    A device's id is its index, as scripts usually write it, if that is unambiguous. It is a UUID if
    the caller named it so, or if CUDA may count differently from NVML: if the GPUs differ (CUDA
    puts the fastest first) or if one of them cannot be used (CUDA skips it). A GPU in MIG mode
    stands for its first instance, the only one that CUDA shows.

    Raises:
        MachineError: there are both MIG devices and whole GPUs, which CUDA does not show together.
    """
    gpus = known.gpus
    if not gpus:
        return DiscoveryResult((), known.problems or ("the NVIDIA driver finds no GPU",))
    instances = [instance for gpu in gpus for instance in gpu.instances]
    value = environ.get("CUDA_VISIBLE_DEVICES")
    chosen = select(value, [gpu.device.id for gpu in gpus], [device.id for device in instances])
    alike = len({gpu.device.name for gpu in gpus}) == 1
    devices: list[Device] = []
    notes = list(known.problems)
    if not chosen:
        notes.append(f"CUDA_VISIBLE_DEVICES={value!r} leaves none of {len(gpus)} GPUs visible")
    for choice in chosen:
        if choice.position >= len(gpus):
            devices.append(instances[choice.position - len(gpus)])
            continue
        gpu = gpus[choice.position]
        if not gpu.mig:
            by_index = alike and not known.problems and not choice.by_uuid
            id = str(gpu.device.index) if by_index else gpu.device.id
            devices.append(replace(gpu.device, id=id))
        elif gpu.instances:
            devices.append(gpu.instances[0])
        else:
            why = "in MIG mode without an instance (nvidia-smi mig -cgi)"
            notes.append(f"GPU {gpu.device.index} is left out: {why}")
    parts = [device for device in devices if device.id.startswith("MIG-")]
    whole = [device for device in devices if device not in parts]
    if parts and whole:
        raise MachineError(
            f"GPU {parts[0].index} is in MIG mode and GPU {whole[0].index} is whole: CUDA does not "
            "show a process both, and their speeds do not compare. Choose one kind, for example "
            f"CUDA_VISIBLE_DEVICES={','.join(device.id for device in whole)}"
        )
    if len({device.index for device in devices}) < len(devices):  # instances of one GPU
        devices = [replace(device, index=i) for i, device in enumerate(devices)]
    return DiscoveryResult(tuple(devices), tuple(notes))


def _describe(nvml: ModuleType, handle: object, gpu: dict[str, object]) -> None:
    def of(call: Callable[..., T], *args: object) -> T | None:
        return ask(nvml, call, handle, *args)

    power = of(nvml.nvmlDeviceGetEnforcedPowerLimit)
    usual = of(nvml.nvmlDeviceGetPowerManagementDefaultLimit)
    ecc = of(nvml.nvmlDeviceGetEccMode)
    bus = of(nvml.nvmlDeviceGetPciInfo)
    capability = of(nvml.nvmlDeviceGetCudaComputeCapability)
    memory = ask(nvml, read_memory, nvml, handle)
    if memory is not None:
        gpu["memory"] = {"used": memory[0], "total": memory[1]}
    cpus = gpu.pop("cpus")
    persistence, mig = of(nvml.nvmlDeviceGetPersistenceMode), of(nvml.nvmlDeviceGetMigMode)
    gpu |= {
        "uuid": of(nvml.nvmlDeviceGetUUID),
        "capability": capability and ".".join(map(str, capability)),
        "vbios": of(nvml.nvmlDeviceGetVbiosVersion),
        "serial": of(nvml.nvmlDeviceGetSerial),
        "power_limit": power and power / 1000,  # W
        "default_power_limit": usual and usual / 1000,
        "clocks_max": {  # MHz
            "sm": of(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
            "memory": of(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_MEM),
        },
        # The greatest that GPU and slot can do: an idle GPU lowers its link.
        "pcie": {
            "bus_id": bus and (bus.busId.decode() if isinstance(bus.busId, bytes) else bus.busId),
            "generation": of(nvml.nvmlDeviceGetMaxPcieLinkGeneration),
            "width": of(nvml.nvmlDeviceGetMaxPcieLinkWidth),
            "gpu_generation": of(nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration),
            "current_width": of(nvml.nvmlDeviceGetCurrPcieLinkWidth),  # not less while it is idle
        },
        "nvlink": nvlinks(nvml, handle),
        "fabric": fabric_state(nvml, handle),
        "ecc": ecc and bool(ecc[0]),
        "mig": mig and bool(mig[0]),
        "persistence": None if persistence is None else bool(persistence),
        "application_clock": of(nvml.nvmlDeviceGetApplicationsClock, nvml.NVML_CLOCK_SM),
        "default_application_clock": of(
            nvml.nvmlDeviceGetDefaultApplicationsClock, nvml.NVML_CLOCK_SM
        ),
        # all of them, whether or not this process may use them
        "cpus": cpu_list(near_cpus(nvml, handle)) or cpus,
    }
