"""Whether the devices are sampled, and that the thread is gone afterwards."""

import threading

import pytest

from milabench_ddp.launch import sampling
from milabench_ddp.launch.runner import Samples
from milabench_ddp.machine.devices import Device
from milabench_ddp.monitor.reading import Reading
from milabench_ddp.monitor.sample import Sample

DEVICES = (Device(0, "0"),)


class Source:
    """A driver with one device."""

    def open(self) -> None:
        pass

    def read(self) -> Reading:
        return Reading({0: Sample(load=0.5)})

    def close(self) -> None:
        pass


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_slots_of_a_cpu_have_no_sensors() -> None:
    with sampling.sampling("cpu", DEVICES, 0.1, Samples()):
        assert "sampler" not in threads()


@pytest.mark.parametrize(("interval", "samples"), [(0.0, False), (0.1, True), (None, True)])
def test_devices_are_sampled_unless_it_is_never(
    monkeypatch: pytest.MonkeyPatch, interval: float | None, *, samples: bool
) -> None:
    monkeypatch.setattr(sampling, "source_for", lambda *_: Source())
    with sampling.sampling("cuda", DEVICES, interval, Samples()):
        assert ("sampler" in threads()) is samples
    assert "sampler" not in threads()
