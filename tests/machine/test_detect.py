import os
import threading
from collections.abc import Callable

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import MachineError
from milabench_ddp.machine import detect as module
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import DiscoveryResult
from milabench_ddp.machine.detect import bound, detect, partition, synthetic_cluster
from milabench_ddp.machine.devices import Device
from tests.fakes.nvml import FakeNvml, gpus

Install = Callable[..., FakeNvml]


@pytest.fixture(autouse=True)
def _no_other_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rocm", "hpu", "xpu"):
        monkeypatch.setattr(BACKENDS[name], "may_be_present", lambda: False)


@pytest.fixture
def _amd(monkeypatch: pytest.MonkeyPatch) -> None:
    amd = DiscoveryResult((Device(0, "0", "MI300X", 192_000.0),))
    monkeypatch.setattr(BACKENDS["rocm"], "may_be_present", lambda: True)
    monkeypatch.setattr(BACKENDS["rocm"], "discover", lambda environ, count: amd)


def no_driver(install: Install) -> None:
    install(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)


def test_all_gpus(install: Install) -> None:
    nvml = install(gpus(8))
    detection = detect(None, None, {})
    assert detection.arch == "cuda"
    (node,) = detection.nodes
    assert [device.id for device in node.devices] == [str(i) for i in range(8)]
    assert node.devices[0].memory_mib == 143771.0
    assert 1 <= node.cpu_count <= (os.cpu_count() or 1)
    assert "." not in node.name
    assert detection.nodes[0].notes == ()
    assert nvml.sessions == 0


def test_the_first_of_the_visible_gpus(install: Install) -> None:
    install(gpus(8))
    detection = detect("cuda", 2, {"CUDA_VISIBLE_DEVICES": "6,4,2"})
    assert [device.index for device in detection.nodes[0].devices] == [6, 4]


def test_more_gpus_than_there_are(install: Install) -> None:
    install(gpus(2))
    with pytest.raises(MachineError) as caught:
        detect(None, 4, {})
    assert str(caught.value) == (
        "--gpus 4: 2 cuda devices can be used here. Ask for at most 2, or for CPU "
        "slots with `--device cpu --gpus 4`"
    )


def test_more_gpus_than_are_visible(install: Install) -> None:
    install(gpus(8))
    with pytest.raises(MachineError) as caught:
        detect(None, 4, {"CUDA_VISIBLE_DEVICES": "7"})
    assert str(caught.value) == (
        "--gpus 4: 1 cuda device can be used here with CUDA_VISIBLE_DEVICES=7. Ask "
        "for at most 1, or for CPU slots with `--device cpu --gpus 4`"
    )


def test_without_a_driver_the_cpu_and_plainly(install: Install) -> None:
    no_driver(install)
    detection = detect(None, None, {})
    assert detection.arch == "cpu"
    assert [device.index for device in detection.nodes[0].devices] == [0, 1]
    assert detection.nodes[0].notes == (
        "this measures the CPU, not a GPU: "
        "no NVIDIA driver is installed (libnvidia-ml.so.1 was not found)",
    )


def test_hidden_gpus_are_not_taken(install: Install) -> None:
    install(gpus(8))
    detection = detect(None, None, {"CUDA_VISIBLE_DEVICES": ""})
    assert detection.arch == "cpu"
    assert "leaves none of 8 GPUs visible" in detection.nodes[0].notes[0]


def test_the_cpu_when_it_is_asked_for(install: Install) -> None:
    nvml = install(gpus(8))
    detection = detect("cpu", 1, {})
    assert detection.arch == "cpu"
    assert detection.nodes[0].notes == ()
    (slot,) = detection.nodes[0].devices
    assert set(slot.cpus) == os.sched_getaffinity(0)
    assert all(gpu.calls == [] for gpu in nvml.gpus)


def test_more_slots_than_cores_are_not_bound(install: Install) -> None:
    slots = len(os.sched_getaffinity(0)) + 1
    devices = detect("cpu", slots, {}).nodes[0].devices
    assert [device.cpus for device in devices] == [()] * slots


@pytest.mark.parametrize("device", [None, "cuda"])
def test_a_driver_that_hangs_is_given_up(device: str | None, monkeypatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    monkeypatch.setattr(BACKENDS["cuda"], "discover", lambda environ, count: release.wait())
    with pytest.raises(MachineError, match=r"--device cuda: its driver has not told .* in 0\.1 s"):
        detect(device, None, {})
    release.set()


def test_gpus_that_are_not_there(install: Install) -> None:
    no_driver(install)
    with pytest.raises(MachineError) as caught:
        detect("cuda", None, {})
    assert str(caught.value) == (
        "--device cuda: no NVIDIA driver is installed (libnvidia-ml.so.1 was not found). "
        "To measure the CPU: --device cpu"
    )


@pytest.mark.usefixtures("_amd")
def test_another_vendor_where_nvml_finds_nothing(install: Install) -> None:
    no_driver(install)
    detection = detect(None, None, {})
    assert detection.arch == "rocm"
    assert detection.nodes[0].notes == ()


@pytest.mark.usefixtures("_amd")
def test_nvidia_first(install: Install) -> None:
    install(gpus(1))
    assert detect(None, None, {}).arch == "cuda"
    assert detect("rocm", None, {}).arch == "rocm"


def test_an_unknown_device() -> None:
    with pytest.raises(MachineError, match="--device tpu: unknown; choose from cuda, rocm, hpu"):
        detect("tpu", None, {})


def test_no_device_at_all() -> None:
    with pytest.raises(MachineError, match="--gpus 0: at least one"):
        detect("cpu", 0, {})


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 2), (2, 2), (1, 5)])
def test_the_parts_are_the_whole(gpus: int, nodes: int) -> None:
    whole = detect("cpu", gpus * nodes, {}).nodes[0]
    parts = [partition("cpu", gpus, rank, nodes, {}) for rank in range(nodes)]
    assert [each.name for each in parts] == [f"node{rank}" for rank in range(nodes)]
    assert [device for each in parts for device in each.devices] == list(whole.devices)
    assert {len(each.devices) for each in parts} == {gpus}
    assert {each.cpu_count for each in parts} == {max(1, whole.cpu_count // nodes)}


def test_more_than_there_are() -> None:
    with pytest.raises(MachineError):
        partition("cuda", 2, 0, 2, {"CUDA_VISIBLE_DEVICES": ""})


def test_a_cluster_of_gpus() -> None:
    cluster = synthetic_cluster("cuda", nodes=4, gpus=8)
    assert [node.name for node in cluster.nodes] == ["node0", "node1", "node2", "node3"]
    assert {node.cpu_count for node in cluster.nodes} == {64}
    for node in cluster.nodes:
        assert [(device.index, device.id) for device in node.devices] == [
            (i, str(i)) for i in range(8)
        ]
        assert all(device.cpus == () for device in node.devices)


def test_cpu_slots_of_an_unknown_machine_are_not_bound() -> None:
    cluster = synthetic_cluster("cpu", nodes=2, gpus=2)
    assert not cluster.has_gpu
    assert all(device.cpus == () for node in cluster.nodes for device in node.devices)


def near(*cores: tuple[int, ...], usable: range, has_taskset: bool = True) -> DiscoveryResult:
    """The result for GPUs that are next to these cores."""
    devices = tuple(Device(i, str(i), cpus=each) for i, each in enumerate(cores))
    return bound(DiscoveryResult(devices), usable, has_taskset=has_taskset)


def cores_of(found: DiscoveryResult) -> list[tuple[int, ...]]:
    return [device.cpus for device in found.devices]


def test_gpus_get_the_cores_next_to_them_that_may_be_used() -> None:
    found = near((0, 1, 2, 3), (4, 5, 6, 7), usable=range(2, 8))
    assert (cores_of(found), found.notes) == ([(2, 3), (4, 5, 6, 7)], ())


def test_where_all_cores_are_next_to_a_gpu_none_are_chosen() -> None:
    assert cores_of(near((0, 1, 2, 3), (0, 1, 2, 3), usable=range(4))) == [(), ()]
    assert cores_of(near((), (), usable=range(4))) == [(), ()]  # it is not known


def test_a_gpu_that_is_far_from_all_usable_cores_is_not_bound_and_told() -> None:
    """Slurm or a cgroup may grant the cores of one socket, and the GPU of the other."""
    found = near((0, 1, 2, 3), (4, 5, 6, 7), usable=range(2))
    assert cores_of(found) == [(), ()]
    far = "GPU 1 is next to cores 4-7, and this process may use 0-1 alone: not bound"
    assert found.notes == (far,)


def test_without_taskset_nothing_is_bound() -> None:
    found = near((0, 1), (2, 3), usable=range(4), has_taskset=False)
    assert cores_of(found) == [(), ()]
    assert found.notes[0].startswith("no `taskset` (util-linux): no process is bound to the cores")


@given(st.lists(st.sets(st.integers(0, 9)), min_size=1), st.sets(st.integers(0, 9), min_size=1))
def test_no_process_is_bound_to_nothing_or_to_what_it_may_not_use(
    cores: list[set[int]], usable: set[int]
) -> None:
    devices = tuple(Device(i, str(i), cpus=tuple(each)) for i, each in enumerate(cores))
    found = bound(DiscoveryResult(devices), tuple(usable), has_taskset=True)
    for device, chosen in zip(devices, cores_of(found), strict=True):
        assert set(chosen) in (set(), usable & set(device.cpus))
