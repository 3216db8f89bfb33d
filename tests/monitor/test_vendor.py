import sys
from types import SimpleNamespace
from typing import Any

import pytest

from milabench_ddp.machine.devices import Device
from milabench_ddp.monitor.reading import SourceError
from milabench_ddp.monitor.sample import Sample
from milabench_ddp.monitor.vendor import VoirSource, sample

ENTRY = {
    "memory": {"used": 300, "total": 192_000},
    "utilization": {"compute": 0.25},
    "temperature": 44,
    "power": 120,
}


class Smi:
    """voir's DeviceSMI, with one device."""

    def __init__(self) -> None:
        self.closed = False
        self.error: Exception | None = None

    def get_gpus_info(self, selection: Any) -> dict[int, Any]:
        if self.error:
            raise self.error
        return {0: ENTRY}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> Smi:
    device = Smi()
    module = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: device)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", module)
    return device


def test_the_devices_in_use(smi: Smi) -> None:
    source = VoirSource("rocm", [Device(0, "0"), Device(1, "1")])
    source.open()
    reading = source.read()
    source.close()
    assert reading.samples == {0: Sample((300.0, 192_000.0), 0.25, 44.0, 120.0)}
    assert reading.problems == ("device 1 gives no samples",)
    assert smi.closed


def test_a_library_that_fails(smi: Smi) -> None:
    source = VoirSource("rocm", [Device(0, "0")])
    source.open()
    smi.error = OSError("gone")
    with pytest.raises(SourceError, match="gone"):
        source.read()


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(is_installed=lambda: False, IMPORT_ERROR="No module named 'x'")
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", absent)
    with pytest.raises(SourceError, match="not installed"):
        VoirSource("rocm", [Device(0, "0")]).open()


def test_voirs_mark_of_the_unknown_is_left_out() -> None:
    entry = {**ENTRY, "power": -0.001, "temperature": -1.0}
    assert sample(entry).payload() == {"memory": [300.0, 192_000.0], "load": 0.25}
