"""What NCCL chose, from lines as NCCL writes them, and with NCCL itself where torch has it."""

import os
import subprocess
import sys

import pytest

from benchmarks.comm import choice
from tests.support.programs import BENCHMARKS

NAMES = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")
LINE = b"node1:71:71 [0] NCCL INFO AllReduce: 268435456 Bytes -> Algo %s channel{Lo..Hi}={0..15}\n"


class Library:
    """Stands for NCCL: it reads its variables when it is told to, and logs a call accordingly."""

    def __init__(self, said):
        self.said, self.level, self.resets = said, None, 0

    def reset(self):
        self.level, self.resets = os.environ.get("NCCL_DEBUG"), self.resets + 1

    def call(self):
        if self.level == "INFO":
            os.write(1, self.said)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (b"NVLS proto SIMPLE", ("NVLS", "Simple")),  # NCCL 2.27
        (b"NVLSTree proto LL128", ("NVLSTree", "LL128")),
        (b"RING proto LL", ("Ring", "LL")),
        (b"1 proto 2 time 33.5", ("Ring", "Simple")),  # before 2.26
        (b"PAT2 proto 9", ("PAT2", "9")),  # a later one's
    ],
)
def test_the_names_of_what_was_chosen(monkeypatch, capfd, said, found):
    library = Library(b"mine, before\n" + LINE % said)
    monkeypatch.setattr(choice, "_reset", lambda: library.reset)
    print("mine")
    told = choice.chosen(library.call)
    assert tuple(told.values()) == found
    assert (library.level, library.resets) == (None, 2)
    library.call()
    assert capfd.readouterr().out == "mine\nmine, before\n"  # nothing of it is lost
    assert not os.environ.keys() & NAMES


def test_an_operation_that_is_not_tuned_tells_nothing(monkeypatch):
    library = Library(b"node1:71:71 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n")
    monkeypatch.setattr(choice, "_reset", lambda: library.reset)
    assert choice.chosen(library.call) == {}


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "NCCL_DEBUG_FILE"])
def test_the_log_of_the_user_is_left_alone(monkeypatch, name):
    library, calls = Library(b""), []
    monkeypatch.setattr(choice, "_reset", lambda: library.reset)
    monkeypatch.setenv(name, "WARN")
    assert choice.chosen(lambda: calls.append(1)) == {}
    assert (len(calls), library.resets, os.environ[name]) == (1, 0, "WARN")


def test_without_nccl(monkeypatch):
    monkeypatch.setattr(choice, "LIBRARIES", ("libno.so.2", "libc.so.6"))
    calls = []
    assert choice.chosen(lambda: calls.append(1)) == {}
    assert calls == [1]


def test_a_failure_in_the_operation_leaves_all_as_it_was(monkeypatch, capfd):
    library = Library(b"")
    monkeypatch.setattr(choice, "_reset", lambda: library.reset)
    monkeypatch.setenv("NCCL_DEBUG_SUBSYS", "INIT")
    with pytest.raises(ZeroDivisionError):
        choice.chosen(lambda: 1 / 0)
    print("mine")
    assert capfd.readouterr().out == "mine\n"
    assert (library.level, os.environ["NCCL_DEBUG_SUBSYS"]) == (None, "INIT")


WITH_NCCL = """
import time, torch
from benchmarks.comm import choice

reset = choice._reset()
if reset is None:
    raise SystemExit(77)
call = torch.cuda.nccl.unique_id  # needs no GPU, and logs
print(choice.chosen(call), choice.chosen(call))
time.sleep(0.5)
"""


def test_nccl_itself_ends_well():
    env = {name: value for name, value in os.environ.items() if name not in NAMES}
    made = subprocess.run(
        [sys.executable, "-c", WITH_NCCL], cwd=BENCHMARKS.parent, env=env, capture_output=True
    )
    if made.returncode == 77:
        pytest.skip("torch has no NCCL with ncclResetDebugInit")
    assert (made.returncode, made.stdout) == (0, b"{} {}\n"), made.stderr
