"""This host: its system, the CPUs that this process may use, and who else is here."""

import math
import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ..hostlist import spans


def host(root: Path = Path("/")) -> dict[str, object]:
    uname = ("sysname", "nodename", "release", "version", "machine")
    return {
        "name": os.uname().nodename,
        "os": dict(zip(uname, os.uname(), strict=True)),
        "cpu": {
            "brand": cpu_name(root),
            "count": os.cpu_count(),  # of the machine
            "usable": cpu_count(root),  # by this process: affinity, and the quota of its cgroup
        },
    }


def cpu_name(root: Path = Path("/")) -> str:
    """The CPU's brand; or its architecture, if the kernel has no name, as on most ARM machines."""
    try:
        facts = (root / "proc/cpuinfo").read_text()
        told = re.search(r"^model name\s*: (.+)$", facts, re.MULTILINE)
    except OSError:
        told = None
    return told[1] if told else os.uname().machine


def oom_kills(root: Path = Path("/")) -> int:
    """How many processes the kernel has killed since its start because memory ran out.

    Those of all memory cgroups count, also of other containers; 0 where it does not say.
    """
    try:
        words = (root / "proc/vmstat").read_text().split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0


def share_cpus(cpus: Sequence[int], slots: int) -> list[tuple[int, ...]]:
    """``cpus`` divided among ``slots``, in order; all shares are empty if there are more slots.

    The sizes differ by one at most.
    """
    if len(cpus) < slots:
        return [()] * slots
    ends = [len(cpus) * i // slots for i in range(slots + 1)]
    return [tuple(sorted(cpus[a:b])) for a, b in pairwise(ends)]


def usable_cpus() -> list[int]:
    """The CPUs of this process's affinity, with the hyper-threads of a core side by side.

    In this order, slots get whole cores: CPU numbers alone often put the second thread of core 0
    after the first thread of the last one, and two slots would share every core.
    """
    return by_core(os.sched_getaffinity(0), Path("/"))


def by_core(cpus: Iterable[int], root: Path) -> list[int]:
    """``cpus`` in the order of their cores; ``root`` holds ``sys``, as ``/`` does."""
    return sorted(cpus, key=lambda cpu: (_first_sibling(cpu, root), cpu))


def _first_sibling(cpu: int, root: Path) -> int:
    path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    try:
        return int(path.read_text().replace("-", ",").split(",")[0])
    except (OSError, ValueError):
        return cpu


def cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as the kernel and ``taskset`` write them: ``0-3,8``."""
    return ",".join(spans(sorted(set(cpus))))


def cpus_beside(bus: str, root: Path = Path("/")) -> tuple[int, ...]:
    """The CPUs of a PCI device's NUMA node; empty where the kernel does not tell them."""
    try:
        told = (root / "sys/bus/pci/devices" / bus / "local_cpulist").read_text()
        parts = [[int(end) for end in part.split("-")] for part in told.split(",")]
    except (OSError, ValueError):
        return ()
    return tuple(cpu for part in parts for cpu in range(part[0], part[-1] + 1))


def cpu_count(root: Path = Path("/")) -> int:
    """The CPU time of this process, in whole CPUs: its affinity, within its cgroup's quota."""
    usable = len(os.sched_getaffinity(0))
    return max(1, int(min(usable, cpu_quota(root))))


def cpu_quota(root: Path = Path("/")) -> float:
    """The CPUs that the cgroups of this process grant; infinity if there is no limit.

    It is the smallest quota of its own group and of the groups above. Reads cgroup version 2
    (``cpu.max``) and version 1 (``cpu.cfs_quota_us``); in a container only the topmost of its
    groups may be visible.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return math.inf
    limits = [math.inf]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        group = PurePosixPath(path.lstrip("/"))
        for folder in (group, *group.parents):
            if not controllers:
                limits.append(_quota(root / "sys/fs/cgroup" / folder, "cpu.max"))
            elif "cpu" in controllers.split(","):
                version_1 = root / "sys/fs/cgroup/cpu" / folder
                limits.append(_quota(version_1, "cpu.cfs_quota_us", "cpu.cfs_period_us"))
    return min(limits)


def _quota(folder: Path, *files: str) -> float:
    """The quota of CPU time divided by its period; the files hold these two, in this order."""
    try:
        quota, period = " ".join((folder / file).read_text() for file in files).split()
        cpus = int(quota) / int(period)
    except (OSError, ValueError):  # no file, or no limit: "max"
        return math.inf
    return cpus if cpus > 0 else math.inf  # version 1 writes -1 for no limit


class OtherProcesses:
    """Names the processes on a device that this process has not started, directly or not."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}  # of each pid that was there last; empty if it is our own

    def named(self, pids: Iterable[int]) -> tuple[str, ...]:
        """The others among the processes on a device; those that cannot be seen are left out.

        A container sees no process outside of it, but a driver may tell its pid.
        """
        known = self._known
        self._known = {pid: known[pid] if pid in known else other_process(pid) for pid in pids}
        return tuple(sorted(filter(None, self._known.values())))


def other_process(pid: int, unseen: str = "") -> str:
    """A process in words, such as ``python3 (pid 4711, of alice)``; empty if it is our own."""
    import psutil

    try:
        process = psutil.Process(pid)
        if os.getpid() in (pid, *(each.pid for each in process.parents())):
            return ""
        return f"{process.name()} (pid {pid}, of {process.username()})"
    except psutil.Error:
        return unseen
