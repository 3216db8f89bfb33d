"""What is read of NVIDIA's devices in the kernel's log, as tools on the PATH tell it."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.machine.kernel_log import reported
from milabench_ddp.samples import DeviceProblem
from tests.support.archives import place_tools

LOST = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."
GPUS: dict[str, dict[str, Any]] = {
    "0": {"uuid": "GPU-0", "pcie": {"bus_id": "00000000:19:00.0"}},
    "1": {"uuid": "GPU-1", "pcie": {"bus_id": "00000000:3B:00.0"}},
    "7": {"uuid": "GPU-7", "pcie": {"bus_id": "00000001:3B:00.0"}},
    "8": {"uuid": "", "pcie": {}},
}
WHEN = "2026-11-27T10:51:25,250000+00:00"
REFUSED = "echo 'dmesg: read kernel buffer failed: Operation not permitted'; exit 1"


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lets the tools do these, and returns what is found."""

    def says(dmesg: str, journalctl: str = ":") -> list[DeviceProblem]:
        place_tools(tmp_path / "bin", monkeypatch, dmesg=dmesg, journalctl=journalctl)
        return list(reported(GPUS))

    return says


@pytest.mark.parametrize(
    ("line", "time"),
    [
        (f"{WHEN} {LOST}", 1795776685.25),
        (f"2026-11-27T11:51:26+0100 n1 kernel: {LOST}", 1795776686.0),
        (f"2026-11-27T10:51:27.500000Z n1 kernel: [ 12.5] {LOST}", 1795776687.5),
        (f"Nov 27 10:51:28 n1 kernel: {LOST}", None),  # a time without its year
    ],
)
@pytest.mark.parametrize("may_read", [True, False])
def test_the_buffer_of_the_kernel_or_else_the_journal(
    says, line: str, time: float | None, may_read: bool
) -> None:
    told = f"echo '{line}'"
    found = says(told) if may_read else says(REFUSED, f"echo '-- No entries --'; {told}")
    one = DeviceProblem("GPU 1 (GPU-1) reported Xid 79", 1, "GPU-1", time=time or 0.0, xid=79)
    assert [each for each in found if each.device == 1] == ([] if time is None else [one])


def test_the_end_of_a_long_log_is_read(says) -> None:
    found = says(f"yes '{WHEN} usb: device' | head -n 100000; echo '{WHEN} {LOST}'")
    assert [each.xid for each in found] == [79]


@pytest.mark.parametrize(
    ("place", "index"),
    [
        ("PCI:0000:19:00", 0),
        ("PCI:0000:3b:00", 1),
        ("PCI:0001:3b:00", 7),
        ("PCI:0000:3B:00.0", 1),
        ("0000:3b:00", 1),
        ("PCI:0000:3b:00 GPU-I:05", 1),
    ],
)
def test_an_xid_belongs_to_the_gpu_at_its_place(says, place: str, index: int) -> None:
    (problem,) = says(f"echo '{WHEN} NVRM: Xid ({place}): 48, pid=7, An uncorrectable error'")
    uuid = GPUS[str(index)]["uuid"]
    said = f"GPU {index} ({uuid}) reported Xid 48"
    assert problem == DeviceProblem(said, index, uuid, time=1795776685.25, xid=48)


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:ff:00): 79, GPU has fallen off the bus.",  # of another job
        "NVRM: Xid (PCI:junk): 79, x",
        "NVRM: Xid (PCI:0000:3b:00): many",
        "NVRM: GPU at PCI:0000:3b:00: GPU-1",
        "",
    ],
)
def test_other_lines_tell_nothing_of_these_gpus(says, text: str) -> None:
    assert says(f"echo '{WHEN} {text}'") == []


def test_a_gpu_whose_place_is_not_known_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_tools(tmp_path / "bin", monkeypatch, dmesg=f"echo '{WHEN} {LOST}'")
    assert list(reported({"0": {"pcie": {"bus_id": "?"}}, "1": {}})) == []
