"""NVIDIA's management library (NVML): its GPUs, and its errors in plain words."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..devices import Device
from .backend import DriverError, MissingLibraryError

T = TypeVar("T")
_MIB = 2**20


class NvmlError(Protocol):
    """What the bindings raise."""

    value: int  # one of NVML_ERROR_...


class Gpu(Struct, frozen=True):
    """A GPU that this process may use."""

    device: Device  # its index is NVML's, in the order of PCI bus ids; its id is its UUID
    mig: bool = False  # in MIG mode, where only its instances compute
    instances: tuple[Device, ...] = ()  # its MIG devices, each with the index of the GPU


class Inventory(Struct, frozen=True):
    """The GPUs of this host, and the problems of those that cannot be used."""

    gpus: tuple[Gpu, ...]
    problems: tuple[str, ...]  # one for each GPU left out


@contextmanager
def session() -> Iterator[ModuleType]:
    """The module ``pynvml``, initialised; shut down at the end.

    Raises:
        DriverError: the package, the library or the driver is missing or does not work.
    """
    try:
        import pynvml
    except ImportError:
        raise MissingLibraryError("the package nvidia-ml-py is not installed") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        is_missing = error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
        kind = MissingLibraryError if is_missing else DriverError
        raise kind(_why_not(pynvml, error)) from error
    try:
        yield pynvml
    finally:
        with suppress(pynvml.NVMLError):  # a driver that died meanwhile has nothing to shut down
            pynvml.nvmlShutdown()


def inventory(nvml: ModuleType) -> Inventory:
    """The GPUs, in the order of their indices; a GPU that does not answer becomes a problem.

    Raises:
        DriverError: the driver does not tell the number of GPUs.
    """
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        raise DriverError(_why_not(nvml, error)) from error
    gpus, problems = [], []
    for index in range(count):
        try:
            gpus.append(_gpu(nvml, index))
        except nvml.NVMLError as error:
            problems.append(f"GPU {index} is left out: {why_lost(nvml, error)}")
    return Inventory(tuple(gpus), tuple(problems))


def ask(nvml: ModuleType, call: Callable[..., T], *args: object) -> T | None:
    """The result of ``call``; None if this GPU or driver does not support it."""
    try:
        return call(*args)
    except nvml.NVMLError:
        return None


def open_device(nvml: ModuleType, id: str) -> object:
    if id.isdigit():
        return nvml.nvmlDeviceGetHandleByIndex(int(id))
    return nvml.nvmlDeviceGetHandleByUUID(id)


def read_memory(nvml: ModuleType, handle: object) -> tuple[float, float]:
    """Used and total memory in MiB; used includes the driver's reserve, as in milabench."""
    info = nvml.nvmlDeviceGetMemoryInfo(handle)
    return info.used / _MIB, info.total / _MIB


def processes(nvml: ModuleType, handle: object) -> list[Any]:
    """The processes that compute on a GPU.

    The binding's own name for it raises what is no ``NVMLError`` on drivers before 510.
    """
    try:
        return list(nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle))
    except nvml.NVMLError_FunctionNotFound:
        return list(nvml.nvmlDeviceGetComputeRunningProcesses_v2(handle))


def _gpu(nvml: ModuleType, index: int) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    mode = ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    mig = mode is not None and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE
    capability = ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    device = Device(
        index,
        nvml.nvmlDeviceGetUUID(handle),
        nvml.nvmlDeviceGetName(handle),
        _memory_mib(nvml, handle),
        near_cpus(nvml, handle),
        float("{}.{}".format(*capability)) if capability else 0.0,
    )
    instances: list[Device] = []
    slots = ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) if mig else 0
    for slot in range(slots or 0):
        part = ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, slot)
        if part is not None:
            id, memory = nvml.nvmlDeviceGetUUID(part), _memory_mib(nvml, part)
            instances.append(replace(device, id=id, memory_mib=memory))
    return Gpu(device, mig, tuple(instances))


def near_cpus(nvml: ModuleType, handle: object) -> tuple[int, ...]:
    """The CPUs of the GPU's NUMA node; empty if the driver does not tell them."""
    words = os.sysconf("SC_NPROCESSORS_CONF") // 64 + 1
    masks = ask(nvml, nvml.nvmlDeviceGetCpuAffinity, handle, words) or ()
    cpus: list[int] = []
    for word, mask in enumerate(masks):
        cpus += [64 * word + bit for bit in range(64) if mask >> bit & 1]
    return tuple(cpus)


def _memory_mib(nvml: ModuleType, handle: object) -> float:
    memory = ask(nvml, read_memory, nvml, handle)
    return 0.0 if memory is None else memory[1]


def _why_not(nvml: ModuleType, error: NvmlError) -> str:
    reasons = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
            "no NVIDIA driver is installed (libnvidia-ml.so.1 was not found)"
        ),
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: (
            "the NVIDIA driver is installed but not running: "
            "load it (modprobe nvidia), or start this container with its GPUs"
        ),
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
            "the NVIDIA driver was updated under a running kernel module: restart the machine"
        ),
        nvml.NVML_ERROR_FUNCTION_NOT_FOUND: (
            "the NVIDIA driver is too old for nvidia-ml-py: update the driver"
        ),
        nvml.NVML_ERROR_NO_PERMISSION: (
            "this user may not use the NVIDIA driver: see the permissions of /dev/nvidia*"
        ),
    }
    return reasons.get(error.value, f"the NVIDIA driver does not work: {error}")


def why_lost(nvml: ModuleType, error: NvmlError) -> str:
    reasons = {
        nvml.NVML_ERROR_GPU_IS_LOST: "it has fallen off the bus; restart the machine",
        nvml.NVML_ERROR_NO_PERMISSION: "it is not open to this process (a cgroup or permissions)",
        nvml.NVML_ERROR_RESET_REQUIRED: "it must be reset (nvidia-smi --gpu-reset)",
    }
    return reasons.get(error.value, str(error))
