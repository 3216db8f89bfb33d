"""What psutil tells of a host, as planted."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from milabench_ddp.machine import sampler as module
from milabench_ddp.machine.sampler import HostReader
from milabench_ddp.samples import HostSample

GIB, MB = 2**30, 10**6
Plant = Callable[..., None]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Makes psutil tell these counts of bytes, at this time."""
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0, 2})

    def make(time: float, written: int = 0, received: int = 0, swapped: int = 0) -> None:
        networks = {
            "eth0": SimpleNamespace(bytes_recv=received, bytes_sent=0),
            "eth1": SimpleNamespace(bytes_recv=received, bytes_sent=0),
            "lo": SimpleNamespace(bytes_recv=77 * MB, bytes_sent=77 * MB),
        }
        told: dict[str, Any] = {
            "cpu_percent": [100.0, 3.0, 50.0, 3.0],
            "cpu_freq": SimpleNamespace(current=2450.0),
            "virtual_memory": SimpleNamespace(total=8 * GIB, available=2 * GIB),
            "swap_memory": SimpleNamespace(sin=0, sout=swapped),
            "disk_io_counters": SimpleNamespace(read_bytes=5, write_bytes=written),
            "net_io_counters": networks,
        }
        for name, value in told.items():
            monkeypatch.setattr(psutil, name, lambda value=value, **_: value)
        monkeypatch.setattr(module.time, "time", lambda: time)

    return make


def test_rates_are_since_the_reading_before(plant: Plant) -> None:
    read = HostReader()
    plant(100.0, written=7 * MB, received=9 * MB)
    memory = (6144.0, 8192.0)
    assert read() == HostSample(time=100.0, cpu_clock=2450.0, memory=memory)
    plant(102.0, written=17 * MB, received=15 * MB, swapped=4 * MB)
    sample = HostSample(
        time=102.0, cpu=0.75, memory=memory, swap=(0.0, 2.0), disk=(0.0, 5.0), network=(6.0, 0.0)
    )
    assert read() == sample
    assert (sample.full, sample.swapped) == (0.75, 2.0)
    plant(104.0, written=1 * MB, received=15 * MB, swapped=4 * MB)  # a disk was taken out
    later = read()
    assert later is not None
    assert (later.disk, later.network) == (None, (0.0, 0.0))


def test_the_clock_of_the_cores_is_read_now_and_then(plant: Plant) -> None:
    read = HostReader()
    clocks = []
    for second in range(21):
        plant(100.0 + second)
        sample = read()
        assert sample is not None
        clocks.append(sample.cpu_clock is not None)
    assert [second for second in range(21) if clocks[second]] == [0, 10, 20]


@pytest.mark.parametrize(
    "error", [PermissionError("/proc/stat"), ValueError("a line of /proc/diskstats"), KeyError("x")]
)
def test_a_kernel_that_does_not_tell_is_no_failure(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(**_: object) -> None:
        raise error

    plant(100.0)
    monkeypatch.setattr(psutil, "cpu_percent", fail)
    assert HostReader()() is None


def test_this_host() -> None:
    read = HostReader()
    read()
    sample = read()
    assert sample is not None
    assert 0 <= sample.cpu <= 1
    assert 0 < sample.full < 1
    assert sample.network >= (0.0, 0.0)
