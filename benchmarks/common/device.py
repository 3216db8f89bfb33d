"""The device that a process measures, and its memory."""

import torch

from benchmarks.common.failure import UnsupportedError

KINDS = ("cpu", "cuda", "xpu")


def pick(kind: str | None, local_rank: int = 0) -> torch.device:
    """The device of ``kind`` for this process; None: the machine's accelerator, else the CPU.

    ``local_rank`` counts among the devices that the launcher makes visible to a process. Raises
    ``UnsupportedError`` if there is no such device.
    """
    if kind is None:
        found = torch.accelerator.current_accelerator(check_available=True)
        kind = found.type if found is not None and found.type in KINDS else "cpu"
    if kind == "cpu":
        return torch.device("cpu")
    module = torch.get_device_module(kind)
    count = module.device_count() if module.is_available() else 0
    if local_rank >= count:
        raise UnsupportedError(
            f"local rank {local_rank} has no {kind} device: {count} visible here"
        )
    return torch.device(kind, local_rank)


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
