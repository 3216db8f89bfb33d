"""What the real pynvml reads of GPUs that a stub of NVIDIA's C library makes up."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.machine.backends import nvml_sensors
from milabench_ddp.machine.backends.backend import DriverError, Reading
from milabench_ddp.machine.devices import Device
from milabench_ddp.machine.host import other_process
from milabench_ddp.samples import DeviceSample
from tests.fakes.nvml import FakeNvml, gpus
from tests.support.gpu_readings import MIG, REST, WHOLE, Stub, about_gpu_1, reader


def test_all_readings(stub: Stub) -> None:
    with reader() as read:
        assert read() == Reading(WHOLE)


def test_what_only_some_devices_tell(stub: Stub) -> None:
    values = {82: 60, 3: 7, 4: 0, 142: 2, 143: 1, 144: 0, 145: 1}
    words = [
        "energy 9876543",
        "sm_clock 1580",
        "headroom 4",
        "generation 4",
        "width 8",
        "reasons 0x24",
    ]
    told = [f"1 f{id} {value}" for id, value in values.items()]
    stub(*told, *(f"1 {word}" for word in words))
    with reader() as read:
        reading = read()
    assert reading.samples == {
        0: WHOLE[0],
        1: replace(
            WHOLE[1],
            sm_clock=1580,
            clock_reasons=("sw_power_cap", "sw_thermal_slowdown"),
            headroom=4.0,
            pcie_link=(4, 8),
            memory_temperature=60,
            energy=9876.543,
            ecc=(7, 0),
            remapped=(2, 1, 0, 1),
        ),
    }
    assert reading.problems == ()  # what a device lacks of these is absent, and nothing is told


def test_the_headroom_by_the_threshold_of_an_older_driver(stub: Stub) -> None:
    stub("0 slowdown 0", "1 slowdown 92", "1 temperature 85")
    with reader() as read:
        samples = read().samples
    # a threshold of 0 is that of a device without one, not of one that is 85 degrees too hot
    assert [samples[index].headroom for index in (0, 1)] == [None, 7.0]


def test_what_crosses_its_links_is_a_rate_since_the_reading_before(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([100.0, 102.0, 104.0, 106.0])
    monkeypatch.setattr(nvml_sensors.time, "time", lambda: next(now))
    counted = [(0, 0), (20_000_000, 4_000_000), (1_000, 8_000_000), (2_001_000, 8_000_000)]
    rates = []
    with reader([Device(0, "0")]) as read:
        for sent, received in counted:
            stub(f"0 f197 {sent}", f"0 f198 {received}", f"0 f138 {sent}", f"0 f139 {received}")
            sample = read().samples[0]
            rates.append((sample.pcie, sample.nvlink))
    # the third time a counter has begun anew
    assert [pcie for pcie, _ in rates] == [None, (10.0, 2.0), None, (1.0, 0.0)]
    assert rates[1][1] == (10240.0, 2048.0)  # NVLink's are in KiB


def test_energy_and_power_of_the_stub_are_those_of_a_gpu(stub: Stub) -> None:
    """250 W for a quarter of each 400 ms, else 50 W: the mean is 100 W."""

    def seen(ms: int, averaged: int) -> tuple[float | None, float | None]:
        stub("0 watts 50:250:400:25:0", f"0 averaged {averaged}", f"system time {ms}")
        sample = read().samples[0]
        return sample.energy, sample.power

    with reader([Device(0, "0")]) as read:
        assert seen(400_000, 1000) == seen(400_099, 1000) == (40_000.0, 90.0)
        assert seen(400_100, 1000) == (40_025.0, 110.0)
        assert seen(400_000, 25) == (40_000.0, 50.0)
        assert seen(400_100, 25) == (40_025.0, 250.0)


def test_only_the_devices_in_use_are_read(stub: Stub) -> None:
    stub("system gpus 8", "0 error 15")
    with reader([Device(7, "7")]) as read:
        reading = read()
    assert (list(reading.samples), reading.problems) == ([7], ())


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (15, "it has fallen off the bus; restart the machine"),
        (4, "it is not open to this process (a cgroup or permissions)"),
        (16, "it must be reset (nvidia-smi --gpu-reset)"),
        (999, "Unknown Error"),
    ],
)
def test_a_gpu_that_does_not_answer_is_told_in_each_reading_until_it_does(
    stub: Stub, error: int, why: str
) -> None:
    with reader() as read:
        assert read() == Reading(WHOLE)
        stub(f"1 error {error}")
        for _ in range(2):
            assert read() == Reading({0: WHOLE[0]}, about_gpu_1(f"does not answer: {why}"))
        stub()
        assert read() == Reading(WHOLE)


def test_what_was_read_before_a_failure_is_kept(stub: Stub) -> None:
    stub("1 temperature error:999")
    with reader() as read:
        reading = read()
    assert reading.samples[1] == DeviceSample((2048.0, 81920.0), load=0.51)
    assert reading.problems == about_gpu_1("does not answer: Unknown Error")


@pytest.mark.parametrize(
    ("statement", "predicate"),
    [
        ("1 power error:3", "tells no power: Not Supported"),
        ("1 power error:13", "tells no power: Function Not Found"),
        ("1 power error:4", "tells no power: Insufficient Permissions"),
        ("1 memory error:3", "tells no memory: Not Supported"),
    ],
)
def test_a_sensor_that_is_not_there_is_no_fault(stub: Stub, statement: str, predicate: str) -> None:
    stub(statement)
    missing = statement.split()[1]
    with reader() as read:
        for _ in range(2):
            reading = read()
            assert getattr(reading.samples[1], missing) is None
            assert reading.samples[1].load == 0.51
            assert reading.problems == about_gpu_1(predicate, is_fault=False)


def test_a_gpu_none_of_whose_sensors_may_be_read(stub: Stub) -> None:
    stub("1 memory error:4", "1 load error:4", "1 temperature error:4", "1 power error:4")
    with reader() as read:
        reading = read()
    assert reading.samples[1] == DeviceSample(**REST)
    predicate = "tells no memory, no load, no temperature, no power: Insufficient Permissions"
    assert reading.problems == about_gpu_1(predicate, is_fault=False)


@pytest.mark.parametrize("error", ["", "* load error:2", "* load error:3"])
def test_a_mig_device_tells_its_memory(stub: Stub, error: str) -> None:
    stub("1 mig 2", error)
    with reader([Device(1, MIG)]) as read:
        reading = read()
    assert reading.samples == {1: DeviceSample((2048.0, 40960.0))}
    said = " ".join(problem.sentence for problem in reading.problems)
    assert said.startswith(f"MIG device 1 ({MIG}) tells no ")
    assert all(f"no {each}" in said for each in ("load", "temperature", "power"))
    assert not any(problem.is_fault for problem in reading.problems)


def test_a_condition_of_the_stub_can_be_a_file(stub: Stub, tmp_path: Path) -> None:
    stub(f"1 error 15 when {tmp_path / 'lost'}")
    with reader() as read:
        assert read().problems == ()
        (tmp_path / "lost").touch()
        assert read().problems != ()


def test_processes_of_others_are_named(stub: Stub) -> None:
    stub(f"1 pids {os.getpid()},{os.getppid()}")
    with reader() as read:
        samples = read().samples
    assert samples == {0: WHOLE[0], 1: replace(WHOLE[1], foreign=(other_process(os.getppid()),))}


def test_no_driver(stub: Stub) -> None:
    stub("system init 9")
    with pytest.raises(DriverError, match="installed but not running"), reader():
        pass


def test_one_set_of_calls_for_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml(gpus(2))
    fake.gpus[0].power = None
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    with reader([Device(0, "0")]) as read:
        for _ in range(3):
            read()
    every = ["MemoryInfo", "UtilizationRates", "Temperature"]
    once = ["PowerUsage", "EnforcedPowerLimit"]  # which this one lacks
    assert fake.gpus[0].calls == ["HandleByIndex", "UUID", *every, *once, *every, *every]
    assert fake.gpus[1].calls == []
    assert fake.sessions == 0
