import json
import math
import os
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.machine import host as module
from milabench_ddp.machine.host import (
    by_core,
    cpu_count,
    cpu_list,
    cpu_name,
    cpu_quota,
    host,
    oom_kills,
    share_cpus,
)

CPUINFO = """\
processor\t: 0
model name\t: Some CPU @ 2.00GHz

processor\t: 1
model name\t: Some CPU @ 2.00GHz
"""


def test_from_proc(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO)
    found = host(tmp_path)
    assert found["cpu"]["brand"] == "Some CPU @ 2.00GHz"


def test_a_kernel_that_names_no_brand(tmp_path: Path) -> None:
    assert cpu_name(tmp_path) == platform.machine()


def test_this_host() -> None:
    found = host()
    assert found["os"]["sysname"] == "Linux"
    assert found["cpu"]["count"] == os.cpu_count()
    assert json.loads(json.dumps(found)) == found


@given(st.sets(st.integers(0, 512), min_size=1), st.integers(1, 64))
def test_slots_share_the_cores_out(cpus: set[int], slots: int) -> None:
    parts = share_cpus(sorted(cpus), slots)
    assert len(parts) == slots
    flat = [cpu for part in parts for cpu in part]
    assert len(set(flat)) == len(flat)
    if slots > len(cpus):
        assert flat == []
    else:
        assert set(flat) == cpus
        sizes = {len(part) for part in parts}
        assert max(sizes) - min(sizes) <= 1
        assert 0 not in sizes


def siblings(root: Path, pairs: dict[int, str]) -> None:
    for cpu, text in pairs.items():
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text + "\n")


def test_a_slot_gets_both_threads_of_its_cores(tmp_path: Path) -> None:
    siblings(tmp_path, {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7"})
    siblings(tmp_path, {4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"})
    assert share_cpus(by_core(range(8), tmp_path), 2) == [(0, 1, 4, 5), (2, 3, 6, 7)]


def test_siblings_may_be_written_as_a_range(tmp_path: Path) -> None:
    siblings(tmp_path, {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert by_core({3, 0, 2, 1}, tmp_path) == [0, 1, 2, 3]


def test_without_a_topology_cores_come_by_number(tmp_path: Path) -> None:
    assert by_core({3, 1, 2}, tmp_path) == [1, 2, 3]


def cgroup(root: Path, line: str, files: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(line + "\n")
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("line", "files", "quota"),
    [
        pytest.param("0::/", {"cpu.max": "150000 100000"}, 1.5, id="container"),
        pytest.param("0::/", {"cpu.max": "max 100000"}, math.inf, id="no limit"),
        pytest.param("0::/", {}, math.inf, id="no file"),
        pytest.param(
            "0::/a/b",
            {"a/cpu.max": "200000 100000", "a/b/cpu.max": "400000 100000"},
            2.0,
            id="the parent's is smaller",
        ),
        pytest.param(
            "4:cpu,cpuacct:/job",
            {"cpu/job/cpu.cfs_quota_us": "300000", "cpu/job/cpu.cfs_period_us": "100000"},
            3.0,
            id="version 1",
        ),
        pytest.param(
            "4:cpu,cpuacct:/docker/1234",
            {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"},
            0.5,
            id="version 1, own group not mounted",
        ),
        pytest.param(
            "1:cpu:/",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            math.inf,
            id="version 1, no limit",
        ),
        pytest.param(
            "3:cpuset:/", {"cpu/cpu.cfs_quota_us": "1"}, math.inf, id="another controller"
        ),
        pytest.param("0::/", {"cpu.max": "gibberish"}, math.inf, id="gibberish"),
    ],
)
def test_quota(tmp_path: Path, line: str, files: dict[str, str], quota: float) -> None:
    assert cpu_quota(cgroup(tmp_path, line, files)) == quota


def test_no_proc_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == math.inf


@pytest.mark.parametrize(("quota", "count"), [("2500000", 8), ("350000", 3), ("50000", 1)])
def test_cpus_are_the_affinity_within_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, count: int
) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid: set(range(8)))
    assert cpu_count(cgroup(tmp_path, "0::/", {"cpu.max": f"{quota} 100000"})) == count


def test_the_kernel_counts_the_processes_that_it_killed_for_memory(tmp_path: Path):
    assert oom_kills(tmp_path) == 0
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 10\noom_kill 3\nswap_ra 0\n")
    assert oom_kills(tmp_path) == 3


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([7], "7"), ([8, 1, 0, 2, 2], "0-2,8"), ([0, 2, 3], "0,2-3")]
)
def test_cpus_as_the_kernel_writes_them(cpus: list[int], text: str) -> None:
    assert cpu_list(cpus) == text
