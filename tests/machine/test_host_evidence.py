"""What a host tells of a fault, with tools on its PATH that hang, fail or say much."""

import os
from pathlib import Path

import pytest

from milabench_ddp.machine.host_evidence import COMMANDS, gather
from tests.support.archives import place_tools

BEHAVIOURS = {
    "answers": "echo 'Serial Number : 1650123456789'",
    "hangs": "echo 'GPU 00000000:3B:00.0'; exec sleep 900",
    "fails": "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
    "prints": "head -c 1048576 /dev/zero | tr '\\0' x; echo more",
}
LOST = "2026-11-27T10:51:25,250000+00:00 NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus"
ENDED = "(ended with status {})\n"
TOOLS = ("nvidia_smi", "amd_smi", "ibstat", "ethtool", "lspci", "ps")


def test_all_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {tool: f"echo {tool} $*" for tool in TOOLS}
    place_tools(tmp_path / "bin", monkeypatch, dmesg=f"echo '{LOST}'", grep="echo S123", **said)
    files = gather("n1, b has failed", 600.0)
    assert set(files) == {*COMMANDS, "about.txt"}
    assert files["nvidia-smi.txt"] == f"nvidia_smi -q\n{ENDED.format(0)}"
    assert files["nvidia-topology.txt"] == f"nvidia_smi topo -m\n{ENDED.format(0)}"
    assert files["pci.txt"] == f"lspci -vv\n{ENDED.format(0)}"
    assert files["kernel.log"] == f"{LOST}\n{ENDED.format(0)}"
    assert files["machine.txt"] == f"S123\n{ENDED.format(0)}"
    assert files["about.txt"].startswith("Taken at 20")
    assert files["about.txt"].endswith(": n1, b has failed.\n")


@pytest.mark.parametrize(
    ("behaviour", "has", "status", "seconds"),
    [
        ("answers", "Serial Number : 1650123456789\n", 0, 600.0),
        ("fails", "Failed to initialize NVML: Unknown Error\n", 255, 600.0),
        ("hangs", "", 137, 0.5),  # it may be too slow to say anything
        ("prints", "x" * 1048576, None, 600.0),
    ],
)
def test_a_driver_that_behaves_badly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    behaviour: str, has: str, status: int | None, seconds: float,
) -> None:  # fmt: skip
    place_tools(tmp_path / "bin", monkeypatch, nvidia_smi=BEHAVIOURS[behaviour])
    said = gather("b hangs", seconds)["nvidia-smi.txt"]
    assert said.startswith(has)
    if status is None:
        assert len(said) < len(has) + 100
        assert ENDED.format(0) not in said
    else:
        assert said.endswith(ENDED.format(status))


def test_what_cannot_be_had_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without rights, in a container without tools."""
    place_tools(
        tmp_path / "bin", monkeypatch,
        dmesg="echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1",
    )  # fmt: skip
    for tool in ("bash", "timeout", "id", "tail", "cat", "sh"):
        places = (Path(place, tool) for place in os.get_exec_path())
        (tmp_path / "bin" / tool).symlink_to(next(path for path in places if path.exists()))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    files = gather("b hangs", 600.0)
    assert "nvidia-smi: command not found" in files["nvidia-smi.txt"]
    assert files["nvidia-smi.txt"].endswith(ENDED.format(127))
    assert "lspci: command not found" in files["pci.txt"]
    assert "grep: command not found" in files["machine.txt"]
    assert "Operation not permitted" in files["kernel.log"]
    assert "journalctl: command not found" in files["kernel.log"]
