"""What this host and its devices tell of a fault, for their vendor."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ..in_time import in_time
from .host import machine_facts
from .kernel_log import kernel_log
from .tools import answers

PATIENCE = 6.0  # seconds for the tools: the other nodes of a launch are waited for 10
_READ = 3.0  # seconds for the kernel's log
_LINES = 5000  # of the kernel's log

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
    "own-processes.txt": 'ps -u "$(id -u)" -o pid,ppid,stat,etime,wchan:32,args',
}
"""What is asked, by the file that has the answer: commands of a shell."""


def gather(occasion: str, root: Path = Path("/"), seconds: float = PATIENCE) -> dict[str, str]:
    """Files by their names, with `about.txt`, which says what there is not, and why."""
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    files, lacks = {}, []
    for name, answer in answers(COMMANDS, seconds).items():
        if answer.lacks:
            lacks.append(f"{name}: {answer.lacks}")
        if answer.text:
            files[name] = answer.text
    try:
        lines = in_time(partial(kernel_log, root), _READ)[-_LINES:]
        files["kernel.log"] = "".join(f"{_when(line.time)} {line.text}\n" for line in lines)
    except (OSError, TimeoutError) as error:
        lacks.append(f"kernel.log: {str(error) or 'its file system does not answer'}")
    facts = machine_facts(root)
    if facts:
        files["machine.txt"] = "".join(f"{name}: {value}\n" for name, value in facts.items())
    if "product_serial" not in facts:
        lacks.append("machine.txt: the serial of the machine, which only root may read")
    said = "\n".join(["What is not here, and why:", *lacks]) if lacks else "All that was asked for."
    files["about.txt"] = f"Taken at {now}: {occasion}.\n\n{said}\n"
    return files


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
