"""The findings about devices and software that programs told, beside those that were recorded."""

import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from tests.support.result_files import config, end, job, line, rates, start, told, write

GPUS = [f"GPU-{k:08d}-0000" for k in range(8)]
H100 = {"kind": "cuda", "name": "NVIDIA H100 80GB HBM3", "torch": "2.15.0+cu132"}
SOFTWARE = {"torch": "2.15.0+cu132", "cuda": "13.2", "nccl": "2.30.7", "cudnn": "9.26.0.51"}
RATES = rates([100.0, 101.0, 100.0] * 10)


def meta(arch: str = "cuda", uuids: list[str] = GPUS, **more: str) -> str:
    gpus = {}
    for index, uuid in enumerate(uuids):
        gpus[str(index)] = {"device": index, "product": H100["name"], "uuid": uuid}
    accelerators = {"arch": arch, "gpus": gpus if arch == "cuda" else {}}
    return line("meta", {"accelerators": accelerators, "pytorch": SOFTWARE, **more})


def findings(folder: Path) -> list[Finding]:
    found = report_of([folder]).findings
    return [each for each in found if each.name in ("other_device", "other_software")]


def sentences(folder: Path) -> list[str]:
    return [found.sentence for found in findings(folder)]


def write_job(folder: Path, *devices: dict[str, Any], head: str | None = None) -> None:
    """A torchrun whose ranks tell these devices."""
    tells = "".join(told(rank, device=device) for rank, device in enumerate(devices))
    header = head if head is not None else meta()
    write(folder, "b.0", job("b", len(devices)), header, start(), tells, RATES, end())


def on(*uuids: str, **changes: Any) -> list[dict[str, Any]]:
    return [{**H100, "uuid": uuid, **changes} for uuid in uuids]


def test_the_devices_of_the_plan_have_no_finding(tmp_path: Path) -> None:
    software = {**SOFTWARE, "cudnn": "9.26.0"}
    write_job(tmp_path / "job", *on(*GPUS, **software))
    cpu = {"kind": "cpu", "name": "AMD EPYC", "torch": SOFTWARE["torch"]}
    write_job(tmp_path / "cpu", cpu, cpu, head=meta("cpu"))
    write_job(tmp_path / "rocm", *on(*GPUS), head=meta(uuids=[]))
    write_job(tmp_path / "mig", *on(*GPUS[:2]), head=meta(uuids=["MIG-1", "MIG-2"]))
    for folder in sorted(tmp_path.iterdir()):
        assert sentences(folder) == []


def test_a_run_that_tells_no_device_has_no_finding(tmp_path: Path) -> None:
    for number, head in enumerate((meta(), "")):
        write_job(tmp_path / str(number), head=head)
        assert sentences(tmp_path / str(number)) == []
    write(tmp_path, "b.D0", config("b"), meta(), start(), told(device="a word"), RATES, end())
    assert sentences(tmp_path) == []


@pytest.mark.parametrize("odd", [0, 7])
def test_a_rank_on_its_cpu(tmp_path: Path, odd: int) -> None:
    devices = on(*GPUS)
    devices[odd] = {"kind": "cpu", "name": "AMD EPYC"}
    write_job(tmp_path, *devices)
    (found,) = findings(tmp_path)
    assert found.sentence == (
        f"b: rank {odd} measured the CPU, and the plan was NVIDIA H100 80GB HBM3: "
        "its numbers are of the CPU"
    )
    assert (found.place, found.severity) == (f"rank {odd}", Severity.ERROR)


def test_all_ranks_on_the_cpu_are_one_sentence(tmp_path: Path) -> None:
    write_job(tmp_path, *[{"kind": "cpu"}] * 16)
    (said,) = sentences(tmp_path)
    assert said.startswith(
        "b: rank 0, rank 1, rank 2, rank 3, rank 4, rank 5, rank 6, rank 7 and 8"
    )


def test_a_gpu_under_the_name_of_cpu_slots(tmp_path: Path) -> None:
    write_job(tmp_path, *on(GPUS[0]), head=meta("cpu"))
    (said,) = sentences(tmp_path)
    assert said.startswith("b: rank 0 measured NVIDIA H100 80GB HBM3, and the plan was CPU slots")


@pytest.mark.parametrize("odd", [0, 1])
def test_a_gpu_that_the_driver_did_not_show(tmp_path: Path, odd: int) -> None:
    uuids = GPUS[:2]
    uuids[odd] = "GPU-ffffffff-0000"
    write_job(tmp_path, *on(*uuids))
    assert sentences(tmp_path) == [
        f"b: rank {odd} measured GPU-ffffffff-0000, and the plan was {GPUS[0]}, {GPUS[1]}, "
        "as the driver names them"
    ]


@pytest.mark.parametrize("odd", [0, 1])
def test_a_process_on_the_gpu_of_its_neighbour(tmp_path: Path, odd: int) -> None:
    """Both are in the inventory: only the plan says whose is which."""
    for k in range(2):
        settings = {"device": k, "devices": [k], "tag": ["b", f"D{k}"]}
        (device,) = on(GPUS[1 - odd])
        parts = config("b", **settings), meta(), start(), told(device=device), RATES, end()
        write(tmp_path, f"b.D{k}", *parts)
    other, shared = sentences(tmp_path)
    said = f"b: device {odd} measured {GPUS[1 - odd]}, and the plan was {GPUS[odd]}, as"
    assert other.startswith(said)
    assert shared == f"b: device 0, device 1 measured the same GPU, {GPUS[1 - odd]}"


def test_ranks_that_share_a_gpu(tmp_path: Path) -> None:
    write_job(tmp_path, *on(GPUS[0], GPUS[1], GPUS[1]))
    assert sentences(tmp_path) == [f"b: rank 1, rank 2 measured the same GPU, {GPUS[1]}"]


def test_each_node_has_an_inventory_of_its_own(tmp_path: Path) -> None:
    """The ranks of a node tell their devices to the file of that node."""
    for node in range(2):
        name = f"b.0.east{node}" + ".nolog" * node
        header = meta(uuids=GPUS[2 * node : 2 * node + 2], node=f"east{node}")
        uuids = [GPUS[2 * node], GPUS[2 * node + 1]]
        if node:
            uuids[1] = GPUS[0]  # of the other node
        tells = [told(2 * node + k, device=on(uuid)[0]) for k, uuid in enumerate(uuids)]
        settings = job("b", 2, 2, tag=name.split("."))
        write(tmp_path, name, settings, header, start(), *tells, RATES if not node else "", end())
    other, shared = sentences(tmp_path)
    assert other.startswith(f"b: rank 3 (east1) measured {GPUS[0]}, and the plan was {GPUS[2]}, ")
    assert shared == f"b: rank 0 (east0), rank 3 (east1) measured the same GPU, {GPUS[0]}"


def test_the_software_of_another_interpreter(tmp_path: Path) -> None:
    software = {"torch": "2.11.0+cu128", "cuda": "12.8", "nccl": "2.30.7", "cudnn": "9.2.0"}
    write_job(tmp_path, *on(*GPUS[:2], **software))
    found = findings(tmp_path)
    assert [each.sentence for each in found] == [
        "b: it ran with torch 2.11.0+cu128, and the run recorded 2.15.0+cu132",
        "b: it ran with CUDA 12.8, and the run recorded 13.2",
        "b: it ran with cuDNN 9.2.0, and the run recorded 9.26.0.51",
    ]
    assert {each.severity for each in found} == {Severity.NOTE}


def test_what_is_told_of_a_device_is_no_number_of_the_table(tmp_path: Path) -> None:
    write_job(tmp_path, *on(*GPUS[:2], memory_mib=81079))
    (row,) = report_of([tmp_path]).rows
    assert not [name for name in row.told if "memory_mib" in name]


@pytest.mark.parametrize("devices", [5, True, math.nan])
def test_damaged_devices_of_a_plan_are_those_of_the_node(tmp_path: Path, devices: Any) -> None:
    tells = told(0, device=on("GPU-9")[0])
    write(tmp_path, "b.0", job("b", devices=devices), meta(), start(), tells, RATES, end())
    (sentence,) = sentences(tmp_path)
    assert sentence.startswith("b: rank 0 measured GPU-9, and the plan was GPU-00000000-0000, ")
