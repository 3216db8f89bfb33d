"""What this host and its devices tell of a fault, for their vendor."""

import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .kernel_log import KERNEL_LOG

PATIENCE = 6.0  # seconds for the tools: the other nodes of a launch are waited for 10
_END = 1.0  # seconds more for the shell

_PORTS = (
    "for port in /sys/class/net/*; do port=${port##*/}; "
    '[ "$port" = lo ] || { ethtool "$port"; ethtool -S "$port"; }; done'
)
COMMANDS: Mapping[str, str] = {
    "nvidia-smi.txt": "nvidia-smi -q",
    "nvidia-topology.txt": "nvidia-smi topo -m",
    "nvlink.txt": "nvidia-smi nvlink --status && nvidia-smi nvlink --errorcounters",
    "device-processes.txt": "nvidia-smi --format=csv "
    "--query-compute-apps=gpu_bus_id,gpu_uuid,pid,used_memory,name",
    "amd-smi.txt": "amd-smi static && amd-smi metric && amd-smi process",
    "infiniband.txt": "ibstat",
    "ethernet.txt": _PORTS,
    "pci.txt": "lspci -vv",
    "machine.txt": "grep -d skip . /sys/class/dmi/id/* /sys/bus/pci/slots/*/address",
    "kernel.log": KERNEL_LOG,
    "own-processes.txt": 'ps -u "$(id -u)" -o pid,ppid,stat,etime,wchan:32,args',
}
"""What is asked, by the file that has the answer: commands of a shell."""

# A file has both streams of its command, at most 1 MiB of them, and how it ended.
_ASK = """ask() {
    timeout --signal KILL "$1" bash -c "ulimit -c 0 -f 1024; $3" &> "$2"
    echo "(ended with status $?)" >> "$2"
}
"""


def gather(occasion: str, seconds: float = PATIENCE) -> dict[str, str]:
    """The answers, by the names of their files, and when they were taken.

    All are asked at once: one that hangs holds up neither us nor others.
    """
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    asked = [f"ask {seconds} {name} {shlex.quote(each)} &\n" for name, each in COMMANDS.items()]
    files = {"about.txt": f"Taken at {now}: {occasion}.\n"}
    with tempfile.TemporaryDirectory(prefix="milabench-evidence-") as folder:
        shell = subprocess.Popen(
            ["bash", "-c", f"{_ASK}{''.join(asked)}wait"], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            shell.wait(seconds + _END)
        for path in Path(folder).iterdir():
            files[path.name] = path.read_text(errors="replace")
    return files
