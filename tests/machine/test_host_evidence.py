"""What a planted host tells of a fault, with tools on its PATH that hang, fail or say much."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from milabench_ddp.machine import tools
from milabench_ddp.machine.host_evidence import COMMANDS, gather
from tests.support.wait import wait_for

BEHAVIOURS = {
    "answers": "echo 'Serial Number : 1650123456789'",
    "hangs": "echo 'GPU 00000000:3B:00.0'; touch $HUNG; exec sleep 900",
    "fails": "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
    "prints": "head -c 1048576 /dev/zero | tr '\\0' x; echo more",
}
TOOLS = ("nvidia-smi", "amd-smi", "ibstat", "ethtool", "lspci", "ps")


def place_tools(folder: Path, monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    """Put these tools before all others on the PATH; those that are named by nothing are quiet."""
    folder.mkdir()
    for tool in TOOLS:
        path = folder / tool
        path.write_text(f"#!/bin/sh\n{tools.get(tool.replace('-', '_'), ':')}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    line = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    (tmp_path / "dev/kmsg").write_text(f"3,99,1500000,-;{line}\n")
    folder = tmp_path / "sys/class/dmi/id"
    folder.mkdir(parents=True)
    (folder / "product_serial").write_text("S123\n")
    (folder / "product_name").write_text("DGX H100\n")
    return tmp_path


def test_all_that_was_asked_for(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_tools(tmp_path / "bin", monkeypatch, **{
        tool.replace("-", "_"): f"echo {tool} $*" for tool in TOOLS if tool != "ethtool"
    })  # fmt: skip
    files = gather("n1, b has failed", root, 600.0)
    assert sorted(files) == sorted(
        {*COMMANDS, "kernel.log", "machine.txt", "about.txt"} - {"ethernet.txt"}
    )
    assert files["nvidia-smi.txt"] == "nvidia-smi -q\n"
    assert files["nvidia-topology.txt"] == "nvidia-smi topo -m\n"
    assert files["pci.txt"] == "lspci -vv\n"
    assert files["kernel.log"].endswith(
        "Z NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    )
    assert files["machine.txt"] == "product_name: DGX H100\nproduct_serial: S123\n"
    assert files["about.txt"].startswith("Taken at 20")
    assert files["about.txt"].endswith(": n1, b has failed.\n\nAll that was asked for.\n")


@pytest.mark.parametrize(
    ("behaviour", "has", "lacks"),
    [
        ("answers", "Serial Number : 1650123456789\n", ""),
        ("hangs", "GPU 00000000:3B:00.0\n", "did not end within 600 s"),
        ("fails", "Failed to initialize NVML: Unknown Error\n", "ended with 255"),
        ("prints", "x" * 1048576, "said more than 1 MiB"),
    ],
)
def test_a_driver_that_behaves_badly(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    behaviour: str, has: str, lacks: str,
) -> None:  # fmt: skip
    place_tools(tmp_path / "bin", monkeypatch, nvidia_smi=BEHAVIOURS[behaviour], ibstat="echo up")
    monkeypatch.setenv("HUNG", str(tmp_path / "hung"))
    if behaviour == "hangs":
        wait = tools._wait

        def over(asked: Sequence[tools.Started], seconds: float) -> list[tools.Started]:
            wait_for((tmp_path / "hung").exists)
            return wait(asked, 0.2)

        monkeypatch.setattr(tools, "_wait", over)
    files = gather("b hangs", root, 600.0)
    assert files["nvidia-smi.txt"] == has
    assert (f"nvidia-smi.txt: {lacks}\n" in files["about.txt"]) is bool(lacks)
    assert ("What is not here, and why:" in files["about.txt"]) is bool(lacks)


def test_what_cannot_be_had_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without rights, in a container without tools."""
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "id"):
        found = next(
            Path(place, tool) for place in os.get_exec_path() if Path(place, tool).exists()
        )
        (tmp_path / "bin" / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    files = gather("b hangs", tmp_path, 600.0)
    assert set(files) <= {"about.txt", "ethernet.txt"}
    for told in (
        "nvidia-smi.txt: nvidia-smi: command not found",
        "pci.txt: lspci: command not found",
        "kernel.log: this user may read neither /dev/kmsg, nor the journal, nor kern.log",
        "machine.txt: the serial of the machine, which only root may read",
    ):
        assert f"{told}\n" in files["about.txt"]
