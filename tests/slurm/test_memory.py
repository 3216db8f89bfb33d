"""Memory that runs out: the table says ``oom``, and the reason which rank it was."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm

PROGRAM = """\
import json, os, resource, sys, time
kind, rank, group = sys.argv[1:]
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s", "rank": 0}) + "\\n")
if os.environ.get("RANK", "0") != rank:
    time.sleep(100)
if kind == "kernel":
    with open(f"{group}/cgroup.procs", "w") as out:
        out.write(str(os.getpid()))
else:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
everything = bytearray(8 << 30 if kind == "python" else 512 << 20)
everything[::4096] = b"x" * len(everything[::4096])
"""
SUITE = """\
_all: {program: memory.py, weight: 1, max_duration: 600}
python: {inherits: _all, plan: {method: per_gpu}, argv: [python, '0', GROUP]}
alone: {inherits: _all, plan: {method: per_gpu}, argv: [kernel, '0', GROUP]}
first: {inherits: _all, plan: {method: njobs, n: 1}, argv: [kernel, '0', GROUP]}
last: {inherits: _all, plan: {method: njobs, n: 1}, argv: [kernel, '1', GROUP]}
"""
KERNEL = "killed by SIGKILL: this host was out of memory, and its kernel killed a process"


@contextmanager
def little_memory():
    """A memory cgroup whose processes may have 64 MiB."""
    old = Path("/sys/fs/cgroup/memory")
    is_old = old.is_dir()
    group = (old if is_old else Path("/sys/fs/cgroup")) / f"milabench-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = "memory.limit_in_bytes" if is_old else "memory.max"
        (group / limit).write_text(str(64 << 20))
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error.strerror}")
    try:
        yield group
    finally:
        group.rmdir()


def test_out_of_memory_of_the_host_and_by_the_kernel_is_oom(make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, {"quick": [1]})
    (tmp_path / "memory.py").write_text(PROGRAM)
    with little_memory() as group:
        sweep.config.write_text(SUITE.replace("GROUP", str(group)))
        words = ["run", sweep.config, "--device", "cpu", "--gpus", "2", "--name", "sweep"]
        code, out, err = ended(sweep.milabench(*words))
    assert code == 1, err
    assert set(sweep.states().values()) == {"failed"}
    assert sweep.reason("alone") == KERNEL
    assert sweep.reason("first") == f"rank 0: {KERNEL}"
    assert sweep.reason("last") == f"rank 1: {KERNEL}"
    assert sweep.table().count(" oom ") == 4
    assert "this host ran out of memory, in 4: " in out
