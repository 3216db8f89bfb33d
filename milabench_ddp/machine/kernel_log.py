"""What NVIDIA's driver has reported of its devices in the log of this host's kernel."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ..samples import DeviceProblem

KERNEL_LOG = (
    "{ dmesg --time-format iso"
    " || { journalctl --dmesg --output short-iso --lines 5000; cat /var/log/kern.log; }; }"
    " | tail --bytes 500000"
)
"""The end of the log, as a command of a shell; each line begins with its time."""
_PATIENCE = "3"  # seconds
_XID = re.compile(r"(\d+-\d+-\d+T\S+) .*NVRM: Xid \((?:PCI:)?([\da-fA-F:.]+)[^)]*\): (\d+)")


def reported(gpus: Mapping[str, Mapping[str, Any]]) -> Iterator[DeviceProblem]:
    """The Xids of these GPUs in the kernel's log; none where this user may not read it.

    Args:
        gpus: facts by the index of each, as a back-end tells them: `uuid`, and `bus_id` of `pcie`.
    """
    limited = ["timeout", "--signal", "KILL", _PATIENCE, "bash", "-c", KERNEL_LOG]
    log = subprocess.run(limited, capture_output=True, check=False).stdout.decode(errors="replace")
    places = {_address(str((gpu.get("pcie") or {}).get("bus_id"))): i for i, gpu in gpus.items()}
    for when, place, xid in _XID.findall(log):
        if index := places.get(_address(place)):
            uuid = str(gpus[index].get("uuid") or "")
            said = f"GPU {index} ({uuid}) reported Xid {xid}"
            time = datetime.fromisoformat(when).timestamp()
            yield DeviceProblem(said, int(index), uuid, time=time, xid=int(xid))


def _address(text: str) -> tuple[int, ...]:
    """The domain, the bus and the device of a PCI address."""
    return tuple(int(part, 16) for part in re.findall(r"\b[\da-fA-F]+\b", text)[:3])
