import pytest
import torch

from benchmarks.common import device
from benchmarks.common.failure import UnsupportedError


def test_cpu():
    picked = device.pick("cpu", local_rank=5)  # ranks share a CPU
    device.bind(picked)
    assert picked == torch.device("cpu")
    assert device.peak_memory(picked) is None


def test_the_accelerator_is_the_default(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    assert device.pick(None) == torch.device("cpu")
    found = torch.device("cuda")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: found)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device.pick(None, local_rank=1) == torch.device("cuda", 1)
    with pytest.raises(UnsupportedError, match="local rank 2 has no cuda device: 2 visible here"):
        device.pick(None, local_rank=2)


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnsupportedError, match="local rank 0 has no cuda device: 0 visible here"):
        device.pick("cuda")


def test_peak_memory_is_in_mib(monkeypatch):
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 3 * 2**20)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 2**22)
    assert device.peak_memory(torch.device("cuda", 0)) == [3.0, 4.0]


def test_a_debug_build_is_refused(monkeypatch):
    device.check_build()
    monkeypatch.setattr(torch.version, "debug", True)
    with pytest.raises(UnsupportedError, match=r"^torch \S+ is a debug build, many times slower"):
        device.check_build()
