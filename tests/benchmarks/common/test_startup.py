import os
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path

import pytest

from benchmarks.common import startup as startup_module
from benchmarks.common.session import session
from benchmarks.common.startup import Startup, launch_age, since_boot


def test_the_parts_follow_each_other_without_a_gap(monkeypatch):
    monkeypatch.setattr(startup_module, "_began", {os.getpid(): 100.0, os.getppid(): 96.5}.get)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    moments = iter([107.0, 107.25, 110.25, 112.25, 113.25])
    startup = Startup(lambda: next(moments))
    for part in ("device", "rendezvous", "process_group", "build"):
        startup.done(part)
    parts = startup.seconds(2.0)
    assert parts == {
        "spawn": 3.5,
        "import": 7.0,
        "device": 0.25,
        "rendezvous": 3.0,
        "process_group": 2.0,
        "build": 1.0,
        "first_step": 2.0,
    }
    assert sum(parts.values()) == 113.25 - 96.5 + 2.0


def test_what_is_compiled_in_the_first_step_is_apart(monkeypatch):
    compiled = [5.0]
    monkeypatch.setattr(startup_module, "_compiled_s", lambda: compiled[0])
    startup = Startup()
    startup.done("build")
    compiled[0] = 12.0
    startup.compiled()
    compiled[0] = 100.0  # in later steps
    parts = startup.seconds(9.0)
    assert (parts["compile"], parts["first_step"]) == (7.0, 2.0)
    assert "first_step" not in startup.seconds(None)


def test_where_proc_tells_nothing(monkeypatch):
    monkeypatch.setattr(startup_module, "_began", lambda pid: None)
    startup = Startup()
    startup.done("build")
    assert list(startup.seconds(1.0)) == ["build", "first_step"]


def test_the_import_is_that_of_this_process():
    """Between the start of a process and its first line, as another process sees them."""
    folder = Path(startup_module.__file__).parents[2]
    program = (
        "import time; time.sleep(0.2); from benchmarks.common.startup import Startup, since_boot\n"
        "print(Startup().seconds(None)['import'], since_boot())"
    )
    before = since_boot()
    out = subprocess.check_output([sys.executable, "-c", program], cwd=folder, text=True)
    imported, until = map(float, out.split())
    assert 0.2 <= imported + 0.01 <= until - before + 0.02
    assert until <= since_boot()


@pytest.mark.parametrize("distributed", [False, True])
def test_a_program_tells_it_once(wire, monkeypatch, distributed):
    begun = time.monotonic()
    with session("cpu", distributed=distributed) as run:
        time.sleep(0.05)
        for _ in run.steps(repeat(None), work=1, units="x", count=2, warmup=2):
            pass
    (parts,) = [p["startup"] for p in wire.close() if "startup" in p]
    grouped = ["rendezvous", "process_group"] if distributed else []
    parts_of_group = ["device", *grouped] if distributed else []
    assert list(parts) == ["import", *parts_of_group, "build", "first_step"]
    assert 0.05 <= parts["build"] <= time.monotonic() - begun


def test_the_age_of_this_process():
    began = time.monotonic()
    age = launch_age()
    assert 0 < age < 86400 * 30
    assert launch_age() - age <= time.monotonic() - began + 0.02  # it ticks by 10 ms
