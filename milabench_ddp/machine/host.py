"""This host: its operating system, CPU and memory."""

import os
import platform
from pathlib import Path
from typing import Any

from .cores import cpu_count


def host(root: Path = Path("/")) -> dict[str, Any]:
    """Name, system, CPU and memory of this host, JSON-able."""
    return {
        "name": platform.node(),
        "os": operating_system(),
        "distribution": _distribution(),
        "cpu": {
            "brand": cpu_name(root),
            "count": os.cpu_count(),  # of the machine
            "usable": cpu_count(root),  # by this process: affinity, and the quota of its cgroup
            "sockets": _sockets(root),
        },
        "memory_mib": _memory_mib(root),
        "load_average": round(os.getloadavg()[0], 2),  # over a minute: was the machine busy?
    }


def operating_system() -> dict[str, str]:
    """The system as ``uname`` tells it."""
    uname = os.uname()
    return {
        "sysname": uname.sysname,
        "nodename": uname.nodename,
        "release": uname.release,
        "version": uname.version,
        "machine": uname.machine,
    }


def cpu_name(root: Path = Path("/")) -> str:
    """The CPU's brand; the architecture where the kernel names none, as on most ARM machines."""
    names = _cpuinfo(root, "model name")
    return names[0] if names else platform.machine()


def _sockets(root: Path) -> int:
    return len(set(_cpuinfo(root, "physical id"))) or 1


def _cpuinfo(root: Path, key: str) -> list[str]:
    pairs = (line.partition(":") for line in _lines(root / "proc/cpuinfo"))
    return [value.strip() for name, _, value in pairs if name.strip() == key]


def _memory_mib(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) // 1024
    return 0


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return ""


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
