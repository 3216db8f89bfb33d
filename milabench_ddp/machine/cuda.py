"""The NVIDIA GPUs that this process may use, as its CUDA_VISIBLE_DEVICES says."""

from collections.abc import Mapping
from dataclasses import replace

from .devices import Device
from .found import Found
from .nvml import Gpu, Instance, Inventory, NvmlUnavailable, inventory, session
from .visibility import Choice, caller_filters, select


def find_cuda(environ: Mapping[str, str]) -> Found:
    """The GPUs that NVML knows and that ``environ`` leaves visible."""
    try:
        with session() as nvml:
            return visible(inventory(nvml), environ)
    except NvmlUnavailable as error:
        return Found((), (str(error),))


def visible(known: Inventory, environ: Mapping[str, str]) -> Found:
    """The devices of ``known`` that CUDA would show under ``environ``, in its order. Pure.

    A device's id is its index where that says which GPU is meant, as scripts usually write it; it
    is a UUID where the caller named it so, and where CUDA may count otherwise than NVML: if the
    GPUs differ (CUDA puts the fastest first) or one of them cannot be used (CUDA skips it). A GPU
    in MIG mode stands for its first instance, the only one that CUDA shows of it.
    """
    if not known.gpus:
        return Found((), known.problems or ("the NVIDIA driver knows no GPU",))
    parts = [(gpu, part) for gpu in known.gpus for part in gpu.instances]
    variables = caller_filters("cuda", environ)
    value = variables[0][1] if variables else None
    chosen = select(value, [gpu.uuid for gpu in known.gpus], [part.uuid for _, part in parts])
    sure = len({gpu.name for gpu in known.gpus}) == 1 and not known.problems
    places = [
        _place(choice, known, parts, by_index=sure and not choice.by_uuid) for choice in chosen
    ]
    notes = [
        *known.problems,
        *_hidden(chosen, known, value),
        *(place for place in places if isinstance(place, str)),
        *_order(chosen, known, value, environ),
    ]
    return Found(_numbered([p for p in places if isinstance(p, Device)]), tuple(notes))


def _place(
    choice: Choice, known: Inventory, parts: list[tuple[Gpu, Instance]], *, by_index: bool
) -> Device | str:
    """The device that was chosen, or why there is none to use."""
    if choice.position >= len(known.gpus):
        gpu, part = parts[choice.position - len(known.gpus)]
        return Device(gpu.index, part.uuid, gpu.name, part.memory_mib)
    gpu = known.gpus[choice.position]
    if not gpu.mig:
        return Device(gpu.index, str(gpu.index) if by_index else gpu.uuid, gpu.name, gpu.memory_mib)
    if not gpu.instances:
        return f"GPU {gpu.index} is left out: in MIG mode without an instance (nvidia-smi mig -cgi)"
    first = gpu.instances[0]
    return Device(gpu.index, first.uuid, gpu.name, first.memory_mib)


def _numbered(devices: list[Device]) -> tuple[Device, ...]:
    """Numbered by position where two parts of one GPU would share its index."""
    if len({device.index for device in devices}) == len(devices):
        return tuple(devices)
    return tuple(replace(device, index=i) for i, device in enumerate(devices))


def _hidden(chosen: list[Choice], known: Inventory, value: str | None) -> list[str]:
    if chosen or value is None:
        return []
    return [f"CUDA_VISIBLE_DEVICES={value!r} leaves none of {len(known.gpus)} GPUs visible"]


def _order(
    chosen: list[Choice], known: Inventory, value: str | None, environ: Mapping[str, str]
) -> list[str]:
    alike = len({gpu.name for gpu in known.gpus}) == 1
    by_uuid = all(choice.by_uuid for choice in chosen)
    if alike or value is None or by_uuid or environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return []
    return [
        f"the GPUs differ: CUDA_VISIBLE_DEVICES={value} was read in nvidia-smi's order; "
        "name GPUs by UUID to be sure"
    ]
