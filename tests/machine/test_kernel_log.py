"""The kernel's log as it is planted, and what is read of NVIDIA's devices there."""

import os
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.machine import kernel_log as module
from milabench_ddp.machine.kernel_log import LogLine, kernel_log, reported
from milabench_ddp.machine.tools import Answer
from milabench_ddp.samples import DeviceProblem

BOOT = 1_764_000_000.0
LOST = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."
GPUS: dict[str, dict[str, Any]] = {
    "0": {"uuid": "GPU-0", "pcie": {"bus_id": "00000000:19:00.0"}},
    "1": {"uuid": "GPU-1", "pcie": {"bus_id": "00000000:3B:00.0"}},
    "7": {"uuid": "GPU-7", "pcie": {"bus_id": "00000001:3B:00.0"}},
    "8": {"uuid": "", "pcie": {}},
}


def planted(root: Path, name: str, *lines: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return root


def test_the_buffer_of_the_kernel(tmp_path: Path) -> None:
    lines = ("6,1,0,-;Linux version 6.8", " SUBSYSTEM=pci", f"3,99,1500000,-,caller=T1;{LOST}")
    found = kernel_log(planted(tmp_path, "dev/kmsg", *lines), BOOT)
    assert found == [LogLine(BOOT, "Linux version 6.8"), LogLine(BOOT + 1.5, LOST)]


JOURNAL = """#!/bin/sh
echo "1795776685.250000 n1 sshd[1]: {0}"
echo "1795776685.250000 n1 kernel: {0}"
echo "2026-11-27T11:51:26+01:00 n1 kernel: [12345.678901] {0}"
echo "2026-11-27T10:51:27.500000Z n1 kernel: [ 12.5] {0}"
echo "Nov 27 10:51:28 n1 kernel: a time without its year"
echo "-- No entries --"
"""


def test_without_the_right_to_read_the_buffer_the_journal_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "journalctl"
    tool.write_text(JOURNAL.format(LOST))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    times = [1795776685.25, 1795776686.0, 1795776687.5]
    found = kernel_log(tmp_path, BOOT)
    assert [line for line in found if line.text == LOST] == [LogLine(each, LOST) for each in times]


def test_a_log_that_may_not_be_read_is_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "answers", lambda *_: {"": Answer("-- No entries --", "")})
    with pytest.raises(PermissionError, match="neither /dev/kmsg, nor the journal"):
        kernel_log(tmp_path)
    with pytest.raises(PermissionError):
        kernel_log(planted(tmp_path, "dev/kmsg"))


def one(text: str) -> list[DeviceProblem]:
    return list(reported([LogLine(5.0, text)], GPUS))


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
def test_an_xid_belongs_to_the_gpu_at_its_place(place: str, index: int) -> None:
    (problem,) = one(f"NVRM: Xid ({place}): 48, pid=7, An uncorrectable double bit error")
    uuid = GPUS[str(index)]["uuid"]
    said = f"GPU {index} ({uuid}) reported Xid 48"
    assert problem == DeviceProblem(said, index, uuid, time=5.0, xid=48)


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
def test_other_lines_tell_nothing_of_these_gpus(text: str) -> None:
    assert one(text) == []


def test_a_gpu_whose_place_is_not_known_is_passed_over() -> None:
    assert list(reported([LogLine(1.0, LOST)], {"0": {"pcie": {"bus_id": "?"}}, "1": {}})) == []
