"""The device that a process measures, why it cannot be used, and its memory."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks.common.failure import UnsupportedError

KINDS = ("cpu", "cuda", "xpu")
PLANNED = "MILABENCH_DEVICE"  # the kind of device that the plan of a run says

# The oldest driver for each major version of CUDA (NVIDIA's "CUDA Compatibility", table 1:
# https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html)
OLDEST_DRIVERS = {"11": 450, "12": 525, "13": 580}

# By what torch says when it cannot use a GPU: what to do. The first that fits counts.
_REMEDIES = {
    "not compiled with": "install a build of torch for this device",
    "driver on your system is too old": (
        "update the driver{needed}, or install a torch that is built for the driver's CUDA"
    ),
    "found no nvidia driver": (
        "libcuda.so.1 cannot be loaded: install the driver; start a container with --gpus all, and "
        "with `compute` in NVIDIA_DRIVER_CAPABILITIES"
    ),
    "error 802": (
        "start the fabric manager, of the driver's version: systemctl start nvidia-fabricmanager"
    ),
    "error 80[34]": (
        "another libcuda.so.1 than the driver's is found first: take cuda-compat out of "
        "LD_LIBRARY_PATH"
    ),
    "unknown error|initialization failed": (
        "load the module nvidia-uvm, look for Xid in dmesg, or restart the container or the machine"
    ),
    "no cuda gpus are available": "name GPUs that exist in CUDA_VISIBLE_DEVICES",
    "out of memory|busy or unavailable": "end the other processes that use it: see nvidia-smi",
    "no kernel image": "install a torch that is built for GPUs of this capability",
}
_VISIBILITY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def pick(kind: str | None, local_rank: int = 0) -> torch.device:
    """The device of this process: of ``kind``, else of the kind that the plan says.

    Without either, in a program that is run by hand, it is the machine's accelerator, else the CPU.
    ``local_rank`` counts among the devices that the launcher makes visible to a process. Raises
    ``UnsupportedError`` if the machine lacks such a device, or if ``kind`` is not the plan's.
    """
    kind = _planned(kind)
    if kind is None:
        found = torch.accelerator.current_accelerator(check_available=True)
        kind = found.type if found is not None and found.type in KINDS else "cpu"
    if kind == "cpu":
        return torch.device("cpu")
    count = usable(kind)
    if local_rank >= count:
        raise UnsupportedError(
            f"local rank {local_rank} has no {kind} device: {count} visible here{_shown()}"
        )
    return torch.device(kind, local_rank)


def _planned(kind: str | None) -> str | None:
    """``kind``, or else the kind of the plan, which it must not contradict."""
    planned = os.environ.get(PLANNED) or None
    if planned not in (None, *KINDS):
        known = ", ".join(KINDS)
        raise UnsupportedError(f"{PLANNED}={planned}: this program can measure {known}")
    if kind is not None and planned not in (None, kind):
        raise UnsupportedError(
            f"--device {kind} is not the device of the plan, {PLANNED}={planned}: leave the option "
            f"out, and give `milabench run` another --device"
        )
    return kind or planned


def usable(kind: str) -> int:
    """How many devices of ``kind`` this process can use, at least one.

    Raises ``UnsupportedError`` with torch's own reason, and what to do, if torch cannot use any.
    """
    if kind == "cpu":
        return 1
    module = torch.get_device_module(kind)
    with explained(kind):
        module.init()
    return int(module.device_count())


@contextmanager
def explained(what: object) -> Iterator[None]:
    """Turn what torch raises when it uses ``what`` into an ``UnsupportedError``.

    Its text is torch's own reason in one line, and what to do.
    """
    try:
        yield
    except Exception as error:  # torch raises what its libraries say, of any type
        raise UnsupportedError(_explanation(what, error)) from error


def _explanation(what: object, error: Exception) -> str:
    said, _, _ = " ".join(str(error).split()).partition(" Please ")  # which names web pages
    said = re.sub(r"version (\d{4,})", _cuda_version, said).rstrip(".") or type(error).__name__
    built = f" (for CUDA {torch.version.cuda})" if torch.version.cuda else ""
    sentence = f"torch {torch.__version__}{built} cannot use {what}: {said}{_shown()}"
    major = str(torch.version.cuda).partition(".")[0]
    oldest = OLDEST_DRIVERS.get(major)
    needed = f": CUDA {major} needs {oldest} or newer" if oldest else ""
    for words, remedy in _REMEDIES.items():
        if re.search(words, said, re.IGNORECASE):
            return f"{sentence}; {remedy.format(needed=needed)}"
    return sentence


def _cuda_version(number: re.Match[str]) -> str:
    """A version as CUDA writes it, 12020, as people do: CUDA 12.2."""
    major, rest = divmod(int(number[1]), 1000)
    return f"CUDA {major}.{rest // 10}"


def _shown() -> str:
    found = [f"{name}={os.environ[name]}" for name in _VISIBILITY if name in os.environ]
    return f" ({', '.join(found)})" if found else ""


def uuid_of(device: torch.device) -> str | None:
    """The UUID of a device, as NVML and rocm_smi write it; None if torch does not tell it."""
    if device.type != "cuda":
        return None
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if uuid is not None and torch.version.hip is not None:  # HIP's is the kernel's number as text
        uuid = bytes.fromhex(str(uuid).replace("-", "")).decode("ascii", "replace")
    return None if uuid is None else f"GPU-{uuid}"


def told(device: torch.device) -> dict[str, Any]:
    """What a program tells of its device, and of the libraries with which it uses it."""
    facts = {"kind": device.type, "torch": torch.__version__}
    facts |= {"threads": torch.get_num_threads(), "cpus": _cpus()}
    if device.type == "cpu":
        return facts | {"name": _cpu_name()}
    found = torch.get_device_module(device).get_device_properties(device)
    facts |= {"name": found.name, "memory_mib": found.total_memory >> 20, "uuid": uuid_of(device)}
    if device.type == "cuda":
        facts["capability"] = f"{found.major}.{found.minor}"
        facts |= {"cuda": torch.version.cuda, "hip": torch.version.hip, "cudnn": _cudnn()}
        if torch.distributed.is_nccl_available():
            facts["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return {name: value for name, value in facts.items() if value is not None}


def _cpus() -> str:
    """The CPUs that this process may use, as the kernel and ``taskset`` write them: ``0-3,8``."""
    spans: list[list[int]] = []  # the first and the last of each
    for cpu in sorted(os.sched_getaffinity(0)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)


def _cudnn() -> str | None:
    """The version of cuDNN, from 9 on; None on AMD's GPUs, which have none."""
    version = torch.backends.cudnn.version()
    if version is None or torch.version.hip is not None:
        return None
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def _cpu_name() -> str | None:
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else None


def check_build() -> None:
    """Raise ``UnsupportedError`` for a debug build of torch, whose assertions would be measured."""
    if torch.version.debug:
        raise UnsupportedError(
            f"torch {torch.__version__} is a debug build, many times slower: use a release build"
        )


def bind(device: torch.device) -> None:
    """Make ``device`` the current device of this process."""
    if device.type != "cpu":
        torch.get_device_module(device).set_device(device)


@contextmanager
def deterministic_kernels() -> Iterator[None]:
    """Within the block cuDNN takes the same kernel for the same shapes, and it adds in one order.

    Otherwise it takes what was fastest when it tried, and two models may compute with two kernels.
    """
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic
    cudnn.benchmark, cudnn.deterministic = False, True
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic = before


def peak_memory(device: torch.device) -> list[float] | None:
    """Peaks of allocated and reserved memory, in MiB; None for a CPU, which has no record."""
    if device.type == "cpu":
        return None
    module = torch.get_device_module(device)
    peaks = module.max_memory_allocated(device), module.max_memory_reserved(device)
    return [round(peak / 2**20, 1) for peak in peaks]


def reset_peak_memory(device: torch.device) -> None:
    """Forget the peaks so far."""
    if device.type != "cpu":
        module = torch.get_device_module(device)
        module.empty_cache()
        module.reset_peak_memory_stats(device)
