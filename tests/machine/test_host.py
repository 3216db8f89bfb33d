import json
import os
import platform
from pathlib import Path

from milabench_ddp.machine.host import cpu_name, host

CPUINFO = """\
processor\t: 0
model name\t: Some CPU @ 2.00GHz
physical id\t: 0

processor\t: 1
model name\t: Some CPU @ 2.00GHz
physical id\t: 1
"""


def test_from_proc(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO)
    (tmp_path / "proc/meminfo").write_text("MemFree: 1 kB\nMemTotal:       24684092 kB\n")
    found = host(tmp_path)
    assert found["cpu"]["brand"] == "Some CPU @ 2.00GHz"
    assert found["cpu"]["sockets"] == 2
    assert found["memory_mib"] == 24105


def test_a_kernel_that_names_no_brand(tmp_path: Path) -> None:
    assert cpu_name(tmp_path) == platform.machine()
    assert host(tmp_path)["cpu"]["sockets"] == 1


def test_this_host() -> None:
    found = host()
    assert found["os"]["sysname"] == "Linux"
    assert found["cpu"]["count"] == os.cpu_count()
    assert found["memory_mib"] > 0
    assert json.loads(json.dumps(found)) == found
