"""Checks of planted devices, drivers and torch: NVML is a stub, interpreters are scripts."""

import json
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from milabench_ddp.doctor import device_checks
from milabench_ddp.doctor.diagnosis import State
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.devices import Cluster

NO_DRIVER = "no NVIDIA driver is installed"
Stub = Callable[..., None]


@pytest.fixture
def cpu() -> Cluster:
    return detect("cpu", 2, {})


@pytest.fixture
def gpus(stub: Stub) -> Cluster:
    stub("system gpus 2", "* name NVIDIA_H200")
    return detect("cuda", None, {})


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes words of sh the interpreter of the benchmarks, whose torch is 2.15.0."""
    monkeypatch.setattr(device_checks, "torch_build", lambda path: {"torch": "2.15.0"})

    def become(words: str) -> None:
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{words}\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return become


def says(*told: dict[str, object]) -> str:
    return "\n".join(f"echo '{json.dumps(each)}'" for each in told)


def test_gpus_with_their_driver(gpus: Cluster) -> None:
    (found,) = device_checks.devices(gpus, "2 x NVIDIA H200")
    assert found.state == State.OK
    assert found.found.startswith("2 x NVIDIA H200, driver ")


def test_a_gpu_that_is_left_out(stub: Stub) -> None:
    stub("system gpus 2", "1 error 15")  # it has fallen off the bus
    first, second = device_checks.devices(detect("cuda", None, {}), "1 x NVIDIA H200")
    assert (first.state, second.state) == (State.OK, State.ERROR)
    assert second.found.startswith("GPU 1 is left out: ")


@pytest.mark.parametrize(("vendor", "kind"), [("0x10de", "0x030200"), ("0x10de", "0x0c0330")])
def test_gpus_on_the_bus_without_a_driver(vendor, kind, cpu, tmp_path: Path) -> None:
    """The controller for USB of such a card is none."""
    device = tmp_path / "sys/bus/pci/devices/0000:18:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    (node,) = cpu.nodes
    fallback = Cluster("cpu", (type(node)(node.name, node.devices, 2, (NO_DRIVER,)),))
    (found,) = device_checks.devices(fallback, "2 CPU slots", tmp_path)
    assert found.state == (State.ERROR if kind.startswith("0x03") else State.OK)
    assert NO_DRIVER in found.found
    (asked,) = device_checks.devices(cpu, "2 CPU slots", tmp_path)  # by --device cpu
    assert asked.state == State.OK


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy", "no-such>=1.2", "nor_this", 'extra-one>=2; extra == "test"']
    monkeypatch.setattr(device_checks, "requires", lambda name: needed)
    (found,) = device_checks.packages()
    assert (found.state, found.advice) == (State.WARNING, "pip install no-such nor_this")
    monkeypatch.setattr(device_checks, "requires", lambda name: needed[:1])
    (found,) = device_checks.packages()
    assert found.state == State.OK


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(device_checks, "requires", requires)
    assert not list(device_checks.packages())


def test_a_torch_that_computes(cpu: Cluster, python) -> None:
    python(says({"done": True}))
    found = list(device_checks.torch(cpu, 60))
    assert [each.state for each in found] == [State.OK, State.OK]
    assert found[0].found == "torch 2.15.0 computes on the CPU and reduces with gloo"


def test_it_is_asked_on_the_devices_of_a_run(gpus: Cluster, python) -> None:
    right = '[ "$MILABENCH_DEVICE $CUDA_VISIBLE_DEVICES" = "cuda 0,1" ] || exit 1'
    python("\n".join([right, says({"done": True})]))
    (found, _) = device_checks.torch(gpus, 60)
    assert found.found == "torch 2.15.0 computes on 2 GPUs and reduces with nccl"


def test_what_its_programs_lack(cpu: Cluster, python) -> None:
    python(says({"warning": "/dev/shm has 1 MiB free; --ipc=host"}, {"done": True}))
    _, found = device_checks.torch(cpu, 60)
    assert (found.state, found.advice) == (State.WARNING, "--ipc=host")
    assert found.found == "/dev/shm has 1 MiB free"


def test_a_torch_that_cannot_use_the_devices(gpus: Cluster, python) -> None:
    python(says({"problem": "planted"}))
    (found,) = device_checks.torch(gpus, 60)
    assert (found.state, found.found) == (State.ERROR, "torch 2.15.0: planted")


def test_a_torch_that_takes_too_long_is_not_known_to_be_wrong(cpu: Cluster, python) -> None:
    python(says({"stage": "imports torch"}) + "\nexec sleep 60")
    (found,) = device_checks.torch(cpu, 0.3)
    assert found.state == State.WARNING
    assert "imports torch" in found.found


def test_no_torch(cpu: Cluster, gpus: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_checks, "torch_build", lambda path: {})
    assert [each.state for each in device_checks.torch(cpu, 60)] == [State.WARNING]
    assert [each.state for each in device_checks.torch(gpus, 60)] == [State.ERROR]
