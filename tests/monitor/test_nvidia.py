import sys

import pynvml
import pytest

from milabench_ddp.machine.devices import Device
from milabench_ddp.monitor.nvidia import NvmlSource
from milabench_ddp.monitor.reading import SourceError
from milabench_ddp.monitor.sample import Sample

from ..fakes.nvml import FakeGpu, FakeNvml, gpus

LOST = pynvml.NVML_ERROR_GPU_IS_LOST
WHOLE = Sample(memory=(600.0, 143771.0), load=0.37, temperature=41.0, power=121.5)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """Two GPUs."""
    fake = FakeNvml(gpus(2))
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def opened(*devices: Device) -> NvmlSource:
    source = NvmlSource(devices)
    source.open()
    return source


def test_all_readings_of_the_devices_in_use(nvml: FakeNvml) -> None:
    source = opened(Device(1, "1"))
    reading = source.read()
    source.close()
    assert reading.samples == {1: WHOLE}
    assert reading.problems == ()
    assert nvml.gpus[0].calls == []
    assert nvml.sessions == 0


def test_one_set_of_calls_for_each_reading(nvml: FakeNvml) -> None:
    source = opened(Device(0, "0"))
    for _ in range(3):
        source.read()
    assert nvml.gpus[0].calls == ["HandleByIndex"] + 3 * [
        "MemoryInfo",
        "UtilizationRates",
        "Temperature",
        "PowerUsage",
    ]


def test_a_sensor_that_is_not_there_is_left_out_and_asked_once(nvml: FakeNvml) -> None:
    nvml.gpus[0].power = None
    source = opened(Device(0, nvml.gpus[0].uuid))
    readings = [source.read() for _ in range(3)]
    assert {reading.problems for reading in readings} == {()}
    assert readings[2].samples[0].payload() == {
        "memory": [600.0, 143771.0],
        "load": 0.37,
        "temperature": 41.0,
    }
    assert nvml.gpus[0].calls.count("PowerUsage") == 1


def test_a_gpu_that_vanishes_and_returns(nvml: FakeNvml) -> None:
    source = opened(Device(0, "0"), Device(1, "1"))
    nvml.gpus[1].error = LOST
    reading = source.read()
    assert reading.samples == {0: WHOLE}
    assert reading.problems == ("GPU 1 does not answer: GPU is lost",)
    nvml.gpus[1].error = None
    assert source.read().samples == {0: WHOLE, 1: WHOLE}


def test_what_was_read_before_a_failure_is_kept(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: FakeGpu) -> int:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(nvml, "nvmlDeviceGetPowerUsage", fail)
    reading = opened(Device(0, "0")).read()
    assert reading.samples[0].load == 0.37
    assert reading.samples[0].power is None
    assert reading.problems == ("GPU 0 does not answer: Unknown Error",)


def test_a_mig_device_tells_its_memory(nvml: FakeNvml) -> None:
    part = FakeGpu("MIG", "MIG-a", total=40_000, load=None, temperature=None, power=None)
    nvml.gpus[0].mig = [part]
    reading = opened(Device(0, "MIG-a")).read()
    assert reading.samples[0].payload() == {"memory": [600.0, 40_000.0]}


def test_no_driver(nvml: FakeNvml) -> None:
    nvml.init_error = pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    with pytest.raises(SourceError, match="installed but not running"):
        opened(Device(0, "0"))


def test_it_can_be_opened_again(nvml: FakeNvml) -> None:
    source = opened(Device(0, "0"))
    source.close()
    source.open()
    assert source.read().samples == {0: WHOLE}
    source.close()
    assert nvml.sessions == 0
