"""Processes that ignore SIGTERM end at the deadline of their launch, and nothing stays behind."""

import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Event, Outcome, Output
from milabench_ddp.launch import stacks, supervisor
from tests.support.launches import launch
from tests.support.processes import alive
from tests.support.supervised import DEAF, DEAF_RANKS, supervise, supervise_past_deadline


def test_deaf_ranks_in_sessions_of_their_own_end_at_the_deadline():
    text = DEAF + DEAF_RANKS + "time.sleep(1000)"
    end, _ = supervise_past_deadline(launch(text), up=1)
    assert (end.outcome, end.reason) == (Outcome.TIMEOUT, "ended at its max_duration of 600 s")
    assert end.processes[0].returncode == -signal.SIGKILL


SAVES = """
import signal, sys, time
def save(*_):
    time.sleep(0.2)
    print("saved", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, save)
print("up", flush=True)
time.sleep(1000)
"""


def test_the_grace_period_begins_with_sigterm(monkeypatch: pytest.MonkeyPatch):
    """Looking where the processes hang comes before it, and takes up to two seconds."""
    at, lines = [0.0], []

    def slow_look(looks: list[stacks.Look]) -> list[list[stacks.Looked]]:
        at[0] += 60.0
        for each in looks:
            each.found(0.0)
        return [[] for _ in looks]

    def on(event: Event, *_: object) -> None:
        if isinstance(event, Output):
            lines.append(event.text)
            at[0] += 600.0 * (event.text == "up\n")

    monkeypatch.setattr(supervisor, "look", slow_look)
    end, _ = supervise(launch(SAVES), on, grace=50.0, clock=lambda: at[0])
    assert lines == ["up\n", "saved\n"]
    assert (end.outcome, end.processes[0].returncode) == (Outcome.TIMEOUT, 0)


DEAF_RANK = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
subprocess.Popen([sys.executable, "-c", child, __file__], start_new_session=True)
os.write(1, b"up\\n")  # in one piece: both ranks write to one pipe
time.sleep(1000)
"""


@pytest.mark.slow
def test_deaf_ranks_of_a_torchrun_end_at_the_deadline(tmp_path: Path):
    program = tmp_path / "deaf.py"
    program.write_text(DEAF_RANK)
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone")
    good = launch("", njobs=True)
    argv = (*torchrun, "--nproc-per-node=2", str(program))
    process = replace(good.processes[0], argv=argv)
    end, _ = supervise_past_deadline(replace(good, processes=(process,)), up=2)
    assert (end.outcome, end.reason) == (Outcome.TIMEOUT, "ended at its max_duration of 600 s")
    assert not alive(str(program))
