"""The CPUs that this process may use, and how slots share them out."""

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath


def share(cpus: Sequence[int], slots: int) -> list[tuple[int, ...]]:
    """``cpus`` in ``slots`` runs, sizes differing by one at most; all empty if too few."""
    if len(cpus) < slots:
        return [()] * slots
    ends = [len(cpus) * i // slots for i in range(slots + 1)]
    return [tuple(sorted(cpus[a:b])) for a, b in pairwise(ends)]


def usable_cpus(root: Path = Path("/")) -> list[int]:
    """The CPUs of this process's affinity, hyper-threads of one core side by side.

    In this order, slots get whole cores: CPU numbers alone often put the second thread of core 0
    after the first thread of the last one, and two slots would share every core.
    """
    return by_core(os.sched_getaffinity(0), root)


def by_core(cpus: Iterable[int], root: Path) -> list[int]:
    """``cpus`` in the order of their cores; ``root`` holds ``sys``, as ``/`` does."""
    return sorted(cpus, key=lambda cpu: (_first_sibling(cpu, root), cpu))


def _first_sibling(cpu: int, root: Path) -> int:
    path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    try:
        return int(path.read_text().replace("-", ",").split(",")[0])
    except (OSError, ValueError):
        return cpu


def cpu_count(root: Path = Path("/")) -> int:
    """CPUs' worth of time that this process can have: its affinity, within its cgroup's quota."""
    usable = len(os.sched_getaffinity(0))
    quota = cpu_quota(root)
    return usable if quota is None else max(1, min(usable, int(quota)))


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs that the cgroups of this process grant, None where there is no limit.

    The smallest of its own group's and of those above. Reads cgroup version 2 (``cpu.max``) and
    version 1 (``cpu.cfs_quota_us``); in a container only the topmost of its groups may be seen.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    limits = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        group = PurePosixPath(path.lstrip("/"))
        for folder in (group, *group.parents):
            if not controllers:
                limits.append(_quota_v2(root / "sys/fs/cgroup" / folder))
            elif "cpu" in controllers.split(","):
                limits.append(_quota_v1(root / "sys/fs/cgroup/cpu" / folder))
    return min((limit for limit in limits if limit is not None), default=None)


def _quota_v2(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _quota_v1(folder: Path) -> float | None:
    try:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        return quota / int((folder / "cpu.cfs_period_us").read_text()) if quota > 0 else None
    except (OSError, ValueError):
        return None
