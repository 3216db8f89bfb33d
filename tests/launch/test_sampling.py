"""Whether the devices are sampled, and that the thread is gone afterwards."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from milabench_ddp.launch import sampling
from milabench_ddp.launch.runner import Samples
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.devices import Device
from milabench_ddp.samples import Sample

DEVICES = (Device(0, "0"),)


@contextmanager
def one_device() -> Iterator[Callable[[], Reading]]:
    yield lambda: Reading({0: Sample(load=0.5)})


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_slots_of_a_cpu_have_no_sensors() -> None:
    with sampling.sampling("cpu", DEVICES, 0.1, Samples()):
        assert "sampler" not in threads()


@pytest.mark.parametrize(("interval", "samples"), [(0.0, False), (0.1, True), (None, True)])
def test_devices_are_sampled_unless_it_is_never(
    monkeypatch: pytest.MonkeyPatch, interval: float | None, *, samples: bool
) -> None:
    monkeypatch.setattr(BACKENDS["cuda"], "source", lambda devices: one_device())
    with sampling.sampling("cuda", DEVICES, interval, Samples()):
        assert ("sampler" in threads()) is samples
    assert "sampler" not in threads()
