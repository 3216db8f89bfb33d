import mmap
import os
from itertools import repeat

import pytest
import torch

from benchmarks.common import memory_phases
from benchmarks.common import session as session_module
from benchmarks.common.memory_phases import MIB, MemoryPhases
from benchmarks.common.session import session

GPU = torch.device("cuda", 0)


class Allocator:
    """PyTorch's allocator of CUDA: what it counts, in bytes."""

    def __init__(self):
        self.allocated = self.reserved = self.peak = self.reserved_peak = 0
        self.retries = 2  # before anything is measured

    def use(self, mib):
        self.allocated = mib * MIB
        self.peak = max(self.peak, self.allocated)
        self.reserved = self.reserved_peak = max(self.reserved, self.allocated)

    def max_memory_allocated(self, device):
        return self.peak

    def max_memory_reserved(self, device):
        return self.reserved_peak

    def reset_peak_memory_stats(self, device):
        self.peak, self.reserved_peak = self.allocated, self.reserved

    def memory_stats(self, device):
        return {
            "num_alloc_retries": self.retries,
            "reserved_bytes.all.current": self.reserved,
            "inactive_split_bytes.all.peak": 7 * MIB,
        }

    def mem_get_info(self, device):
        return 900 * MIB - self.reserved, 1000 * MIB


@pytest.fixture
def allocator(monkeypatch):
    made = Allocator()
    for name in ("memory_stats", "mem_get_info"):
        monkeypatch.setattr(torch.cuda, name, getattr(made, name))
    monkeypatch.setattr(torch, "get_device_module", lambda device: made)
    return made


def test_each_part_of_one_step_has_its_own_peak(allocator):
    memory = MemoryPhases(GPU)
    allocator.use(400)
    allocator.use(100)
    memory.built(("forward", "backward", "optimizer"))
    for forward in (900, 300, 600):  # cuDNN's trials; the step that is watched; a later one
        for mib in (forward, 350, 250):
            allocator.use(mib)
            memory.lap()
        if forward == 900:
            allocator.use(100)
            memory.watch()
    allocated = {"build": 400, "forward": 300, "backward": 350, "optimizer": 350}
    assert memory.told["memory_allocated"] == allocated
    assert memory.told["memory_reserved"]["forward"] == 900
    assert memory.largest([340.0, 950.0]) == [400.0, 950.0]


def test_what_the_allocator_did_in_the_measured_steps(allocator):
    memory = MemoryPhases(GPU)
    with memory.measured():
        allocator.use(500)
        allocator.retries += 3
    state = {"retries": 3, "ooms": 0, "split": 7.0, "other": 100.0, "total": 1000.0}
    assert memory.told["memory_state"] == state


def test_without_parts_and_on_a_cpu_there_is_no_allocator(monkeypatch):
    monkeypatch.setattr(memory_phases, "_resident", dict)
    memory = MemoryPhases(torch.device("cpu"))
    memory.built(())
    memory.watch()
    memory.lap()
    with memory.measured():
        pass
    assert memory.told == {}
    assert memory.largest(None) is None


def test_a_program_tells_it_of_its_second_step_alone(wire, monkeypatch):
    resident = iter(range(100, 200))
    monkeypatch.setattr(memory_phases, "_resident", lambda: {"resident": float(next(resident))})
    with session("cpu") as run:
        parts = ("forward", "backward", "optimizer", "host")
        for _ in run.steps(repeat(None), work=1, units="x", count=3, warmup=3, parts=parts):
            for _ in range(3):
                run.lap()
    (told,) = [p["memory_resident"] for p in wire.close() if "memory_resident" in p]
    assert told == {"build": 100, "forward": 101, "backward": 102, "optimizer": 103}


def test_the_resident_memory_of_each_phase():
    """64 MiB that live in one phase alone."""
    memory = MemoryPhases(torch.device("cpu"))
    memory.built(("forward", "backward", "optimizer"))
    memory.watch()
    with mmap.mmap(-1, 64 * MIB) as block:  # an allocator may have it already, and keep it
        for _ in range(64):
            block.write(bytes(MIB))
        memory.lap()
    memory.lap()
    memory.lap()
    told = memory.told.get("memory_resident")
    if told is None or not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("/proc does not tell the peaks of a phase here")
    assert told["forward"] - told["optimizer"] > 32


def test_the_peak_of_a_part_is_in_the_peak_of_all(wire, monkeypatch):
    """Forgetting the peaks of the parts does not make that of all steps smaller."""
    monkeypatch.setattr(session_module, "peak_memory", lambda device: [300.0, 500.0])
    monkeypatch.setattr(session_module, "reset_peak_memory", lambda device: None)
    peaks = {"allocated": 350.0, "reserved": 400.0}
    monkeypatch.setattr(memory_phases, "_peaks", lambda device: peaks)
    with session("cpu") as run:
        steps = run.steps(repeat(None), work=1, units="x", count=3, warmup=3, parts=("a", "b"))
        for _ in steps:
            run.lap()
    assert [p["memory_peak"] for p in wire.close() if "memory_peak" in p] == [[350.0, 500.0]]
