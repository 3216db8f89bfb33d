"""The peak of a rank's memory in each part of a step, and what its allocator went through.

The allocator counts on the host, when an operation is queued: so its peak can be read and forgotten
between the parts of a step without waiting for the device. That is done in one step of the warm-up.
A CPU has no allocator that counts: there it is the peak of the resident memory of the process, of
which a part that follows another shows what is in use then, too.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

MIB = 2**20


class MemoryPhases:
    """The peaks of some phases of a rank, in MiB, and the state of its allocator."""

    def __init__(self, device: torch.device) -> None:
        self.told: dict[str, dict[str, float]] = {}  # by kind, such as ``memory_allocated``
        self._device = device
        self._parts: Sequence[str] = ()
        self._left: list[str] = []  # parts of the step that is watched

    def built(self, parts: Sequence[str]) -> None:
        """The model is built; a step has these parts, which ``lap`` ends, and a last one."""
        self._end("build")
        self._parts = parts

    def watch(self) -> None:
        """The next step is the one whose parts are watched."""
        self._left = list(self._parts)
        _forget_peaks(self._device)

    def lap(self) -> None:
        if self._left:
            self._end(self._left.pop(0))
            _forget_peaks(self._device)

    def _end(self, phase: str) -> None:
        for kind, mib in _peaks(self._device).items():
            self.told.setdefault(f"memory_{kind}", {})[phase] = round(mib, 1)

    def largest(self, peak: list[float] | None) -> list[float] | None:
        """A peak of allocated and reserved memory, or those of the parts where they are larger."""
        if peak is None:
            return None
        parts = [self.told.get(f"memory_{kind}", {}) for kind in ("allocated", "reserved")]
        return [max(mib, *found.values(), 0.0) for mib, found in zip(peak, parts, strict=True)]

    @contextmanager
    def measured(self) -> Iterator[None]:
        """The block is the measured steps: what the allocator of an NVIDIA or AMD GPU did in them.

        ``retries``: how often it found no memory, waited for the device, gave back all that it kept
        and tried again; ``ooms``: how often that was not enough. ``split``: the most memory that
        was free in blocks of which a part was in use. ``other``: what is on the device beside this
        allocator's memory, such as the context, NCCL's buffers, and other processes. ``total``:
        what the device has, or its MIG slice. In MiB.
        """
        before = _counts(self._device)
        yield
        if self._device.type != "cuda":
            return
        now, stats = _counts(self._device), torch.cuda.memory_stats(self._device)
        free, total = torch.cuda.mem_get_info(self._device)
        other = total - free - stats.get("reserved_bytes.all.current", 0)
        self.told["memory_state"] = {
            **{name: now[name] - before[name] for name in now},
            "split": round(stats.get("inactive_split_bytes.all.peak", 0) / MIB, 1),
            "other": round(max(other, 0) / MIB, 1),
            "total": round(total / MIB, 1),
        }


def _counts(device: torch.device) -> dict[str, int]:
    if device.type != "cuda":
        return {}
    stats = torch.cuda.memory_stats(device)
    return {"retries": stats.get("num_alloc_retries", 0), "ooms": stats.get("num_ooms", 0)}


def _peaks(device: torch.device) -> dict[str, float]:
    """The peaks since they were forgotten, in MiB; empty where they are not known."""
    if device.type == "cpu":
        return _resident()
    module = torch.get_device_module(device)
    return {
        "allocated": module.max_memory_allocated(device) / MIB,
        "reserved": module.max_memory_reserved(device) / MIB,
    }


def _forget_peaks(device: torch.device) -> None:
    if device.type != "cpu":
        torch.get_device_module(device).reset_peak_memory_stats(device)
        return
    try:
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets VmHWM
    except OSError:
        return


def _resident() -> dict[str, float]:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        if line.startswith("VmHWM:"):
            return {"resident": int(line.split()[1]) / 1024}
    return {}
