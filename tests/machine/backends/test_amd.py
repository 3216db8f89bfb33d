"""AMD's GPUs by voir's library, in the order of a planted kernel."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from milabench_ddp.machine import host
from milabench_ddp.machine.backends import amd
from milabench_ddp.machine.backends.amd import AmdBackend, kernel_gpus

NUMBERS = [0xAAF7052596831610, 0xBBF7052596831611, 0xCCF7052596831612]  # of the GPUs, by rocm_smi
BUSES = [0x0C, 0x22, 0x9F]
UUIDS = [f"GPU-{number:016x}" for number in NUMBERS]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A kernel with a CPU, and the GPUs 2, 0 and 1 of rocm_smi, in this order."""
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    for node, gpu in ((0, None), (9, 2), (10, 0), (11, 1)):
        (nodes / str(node)).mkdir(parents=True)
        simd, number, place = (304, NUMBERS[gpu], BUSES[gpu] << 8) if gpu is not None else (0, 0, 0)
        (nodes / str(node) / "properties").write_text(
            f"simd_count {simd}\nunique_id {number}\nlocation_id {place}\ndomain 0\n"
        )
    for bus, cpus in zip(BUSES, ("0-1,4-5", "2-3", "6"), strict=True):
        device = tmp_path / f"sys/bus/pci/devices/0000:{bus:02x}:00.0"
        device.mkdir(parents=True)
        (device / "local_cpulist").write_text(f"{cpus}\n")
    return tmp_path


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> None:
    """voir's library of three GPUs, whose unique numbers rocm_smi tells."""

    def unique(index: int, number: object) -> int:
        number._obj.value = NUMBERS[index]  # type: ignore[attr-defined]
        return 0

    entry = {"product": "AMD Instinct MI300X", "memory": {"used": 1, "total": 196592}}
    entry |= {"utilization": {"compute": 0.5}, "temperature": 50, "power": 400.0}
    library = SimpleNamespace(
        get_gpus_info=lambda selection: {i: dict(entry) for i in range(3)},
        smi=SimpleNamespace(rsmi_dev_unique_id_get=unique),
        close=lambda: None,
    )
    module = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: library)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", module)


def test_the_kernels_gpus(root: Path) -> None:
    assert kernel_gpus(root) == {
        UUIDS[2]: "0000:9f:00.0",
        UUIDS[0]: "0000:0c:00.0",
        UUIDS[1]: "0000:22:00.0",
    }
    assert kernel_gpus(root / "none") == {}


def test_a_gpu_that_is_not_open_is_left_out(root: Path) -> None:
    (root / "sys/class/kfd/kfd/topology/nodes/10/properties").write_text("")
    assert list(kernel_gpus(root)) == [UUIDS[2], UUIDS[1]]


@pytest.mark.usefixtures("smi")
def test_ids_are_hips_and_the_cores_those_beside(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(amd, "kernel_gpus", lambda: kernel_gpus(root))
    monkeypatch.setattr(amd, "cpus_beside", lambda bus, _: host.cpus_beside(bus, root))
    devices = AmdBackend().discover({}, None).devices
    assert [(each.index, each.id, each.uuid) for each in devices] == [
        (2, "0", UUIDS[2]),
        (0, "1", UUIDS[0]),
        (1, "2", UUIDS[1]),
    ]
    assert [each.cpus for each in devices] == [(6,), (0, 1, 4, 5), (2, 3)]
    (chosen,) = AmdBackend().discover({"HIP_VISIBLE_DEVICES": "1"}, None).devices
    assert (chosen.index, chosen.id) == (0, "1")
    facts = AmdBackend().accelerators([chosen])["gpus"]["0"]
    assert (facts["uuid"], facts["cpus"]) == (UUIDS[0], "0-1,4-5")


@pytest.mark.usefixtures("smi")
@pytest.mark.parametrize("known", [{}, {UUIDS[0]: "0000:0c:00.0"}, {"GPU-f": "", "GPU-e": ""}])
def test_the_librarys_order_where_the_kernel_tells_others(known, monkeypatch) -> None:
    """As in a partition, whose UUID the kernel makes."""
    monkeypatch.setattr(amd, "kernel_gpus", lambda: known)
    devices = AmdBackend().discover({}, None).devices
    assert [(each.index, each.id, each.uuid) for each in devices] == [
        (index, str(index), "") for index in range(3)
    ]


@pytest.mark.usefixtures("smi")
def test_partitions_of_one_number_are_all_kept(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "NUMBERS", NUMBERS[:1] * 3)
    monkeypatch.setattr(amd, "kernel_gpus", lambda: {UUIDS[0]: "0000:0c:00.0"})
    assert [each.id for each in AmdBackend().discover({}, None).devices] == ["0", "1", "2"]
