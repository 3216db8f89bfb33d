"""Real processes of a launch that hangs: each in another way, and none may be harmed by a look."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.common import stacks as in_programs
from milabench_ddp.dispatch.this_host import free_ports
from milabench_ddp.events import Ended, Outcome, Output
from milabench_ddp.launch import py_spy, stacks
from milabench_ddp.plan.launch import Launch
from tests.support.launches import launch
from tests.support.supervised import EMIT, supervise, supervise_past_deadline

REPOSITORY = Path(__file__).resolve().parents[2]
# A module that looks as one of torch: its caller waits in a collective.
COLLECTIVE = "import os, time\ndef all_reduce():\n    os.write(1, b'up\\n')\n    time.sleep(1000)\n"
# Ranks in sessions of their own, as torchrun's, one for each line of the program: `hang(RANK)`.
RANKS = """
import os, signal, subprocess, sys, time
from itertools import repeat
sys.path[:0] = [{repository!r}, {folder!r}]
from benchmarks.common.stacks import SIGNAL, show_failure, show_on_signal, wait_for_look
from torch.distributed import all_reduce
def up(): os.write(1, b"up\\n")
rank = os.environ.get("RANK")
if rank is None:
    for k in range({ranks}):
        env = {{**os.environ, "RANK": str(k)}}
        subprocess.Popen([sys.executable, __file__], env=env, start_new_session=True)
    time.sleep(1000)
else:
    show_on_signal()
    HANGS[int(rank)]()
"""


def ranks(folder: Path, *hangs: str) -> Launch:
    """A launch of a process that starts a rank for each of these functions, and its own file."""
    module = folder / "torch" / "distributed" / "__init__.py"
    module.parent.mkdir(parents=True)
    (folder / "torch" / "__init__.py").touch()
    module.write_text(COLLECTIVE)
    program = folder / "main.py"
    text = RANKS.format(repository=str(REPOSITORY), folder=str(folder), ranks=len(hangs))
    bodies = [f"def hang{k}():\n    {line}\n" for k, line in enumerate(hangs)]
    names = ", ".join(f"hang{k}" for k in range(len(hangs)))
    start = text.index("rank = ")
    program.write_text(f"{text[:start]}{''.join(bodies)}HANGS = [{names}]\n{text[start:]}")
    good = launch("", njobs=True)
    process = replace(good.processes[0], argv=(sys.executable, str(program)))
    return replace(good, processes=(process,))


def test_programs_and_supervisor_agree():
    for name in ("STACKS", "DONE", "SIGNAL"):
        assert getattr(in_programs, name) == getattr(stacks, name)
    assert in_programs.PATIENCE > stacks.PATIENCE


def test_ranks_that_hang_are_told_from_those_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(py_spy.shutil, "which", lambda name, path: None)  # no py-spy
    block = "signal.pthread_sigmask(signal.SIG_BLOCK, [SIGNAL])"
    job = ranks(
        tmp_path,
        "all_reduce()",
        "up(); time.sleep(1000)",
        "all_reduce()",
        "up(); sum(repeat(1))",  # in C, without end
        "up(); os.kill(os.getpid(), signal.SIGSTOP)",
        f"{block}; up(); time.sleep(1001)",  # does not answer
        "signal.signal(SIGNAL, signal.SIG_DFL); up(); time.sleep(1002)",  # it would be killed
    )
    end, events = supervise_past_deadline(job, up=7)
    assert (end.outcome, end.reason) == (Outcome.TIMEOUT, "ended at its max_duration of 600 s")
    (process,) = end.processes
    calls = {call.rank: call for call in process.calls}
    assert [calls[rank].waits_in for rank in range(4)] == ["all_reduce", "", "all_reduce", ""]
    assert calls[1].call == "`up(); time.sleep(1000)` (main.py:11 in hang1)"
    assert calls[3].call == "`up(); sum(repeat(1))` (main.py:15 in hang3)"
    assert [rank for rank, call in calls.items() if call.is_busy] == [3]
    assert [calls[rank].state for rank in (4, 5, 6)] == ["T", "S", "S"]
    assert [calls[rank].call for rank in (5, 6)] == ["", ""]
    ended = [event for event in events if isinstance(event, Ended)][-1]
    assert "rank 1 hangs in `up(); time.sleep(1000)` (main.py:11 in hang1); " in ended.reason
    lines = [e.text for e in events if isinstance(e, Output) and e.stream == "stacks"]
    assert lines[0].startswith("rank 1 hangs in ")
    assert f'  File "{tmp_path}/main.py", line 11 in hang1\n' in lines
    assert any(line.startswith("rank 4 is stopped") for line in lines)


def test_a_rank_that_a_missing_peer_made_fail_stays_until_all_are_looked_at(tmp_path: Path):
    """Rank 0 tells its time-out, and its launcher would end rank 1 as soon as it ends."""
    fails = (
        "import json; error = RuntimeError('Timed out waiting 3 ms for recv')\n"
        "    try:\n"
        "        all_reduce(error)\n"
        "    except RuntimeError:\n"
        "        show_failure(error)\n"
        "        data = {'type': 'RuntimeError', 'message': str(error), 'rank': 0}\n"
        "        line = json.dumps({'$event': 'error', '$data': data})\n"
        "        open(os.environ['MILABENCH_METRICS'], 'a').write(line + '\\n')\n"
        "        wait_for_look(error); os.killpg(os.getppid(), 9)"
    )
    hangs = (
        "import pickle; dump = {'pg_status': {'0': {'last_enqueued_collective': '5'}}}\n"
        "    open(os.environ['TORCH_NCCL_DEBUG_INFO_TEMP_FILE'] + '1', 'wb').write("
        "pickle.dumps(dump))\n"
        "    up(); time.sleep(1000)"
    )
    job = ranks(tmp_path, fails, hangs)
    env = {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{tmp_path}/flight_recorder.rank"}
    job = replace(job, processes=(replace(job.processes[0], env=env),))
    wait = (
        "import os, time\n"
        "def all_reduce(error):\n"
        "    dump = os.environ['TORCH_NCCL_DEBUG_INFO_TEMP_FILE'] + '1'\n"
        "    while not os.path.exists(dump): time.sleep(0.01)\n"
        "    time.sleep(0.2); raise error\n"  # rank 1 is about to hang
    )
    (tmp_path / "torch" / "distributed" / "__init__.py").write_text(wait)
    end, _ = supervise(job)
    (process,) = end.processes
    assert process.outcome is Outcome.FAILED
    calls = {call.rank: call for call in process.calls}
    assert (calls[0].waits_in, calls[1].call[:24]) == ("all_reduce", "`up(); time.sleep(1000)`")
    assert (calls[0].begun, calls[1].begun) == (None, 5)


def test_ranks_that_are_ended_from_elsewhere_have_shown_where_they_were(tmp_path: Path):
    """As by torchrun's agent, when the rank that timed out is on another node."""
    up = [f"open({str(tmp_path / name)!r}, 'w')" for name in ("up.0", "up.1")]
    job = ranks(tmp_path, "all_reduce()", f"{up[1]}; time.sleep(1000)")
    module = tmp_path / "torch" / "distributed" / "__init__.py"
    module.write_text(f"import time\ndef all_reduce():\n    {up[0]}; time.sleep(1000)\n")
    launcher, rank = "    time.sleep(1000)\nelse:", "        subprocess.Popen("
    ends = (
        f"    while not all(os.path.exists({str(tmp_path)!r} + f'/up.{{k}}') for k in (0, 1)):\n"
        "        time.sleep(0.01)\n"
        "    for each in started: each.terminate(); each.wait()\n"
        "    sys.exit(1)\nelse:"
    )
    text = (
        (tmp_path / "main.py")
        .read_text()
        .replace(launcher, ends)
        .replace(rank, "        started += [subprocess.Popen(")
    )
    text = text.replace("start_new_session=True)", "start_new_session=True)]")
    (tmp_path / "main.py").write_text(text.replace("rank = os", "started = []\nrank = os"))
    part = replace(job.processes[0], job=0)
    end, events = supervise(replace(job, processes=(part,)))
    (process,) = end.processes
    calls = {call.rank: call for call in process.calls}
    assert [calls[rank].state for rank in (0, 1)] == [stacks.ENDED] * 2
    assert [calls[rank].waits_in for rank in (0, 1)] == ["all_reduce", ""]
    assert calls[1].call.endswith("(main.py:11 in hang1)")
    assert process.reason == "exit status 1"
    lines = [e.text for e in events if isinstance(e, Output) and e.stream == "stacks"]
    assert lines[0].startswith("rank 1 hangs in `open(")


@pytest.mark.slow
def test_gloo_times_out(tmp_path: Path):
    program = REPOSITORY / "tests" / "benchmarks" / "hanging_rank.py"
    good = launch("", njobs=True)
    env = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0])}
    env |= {"MILABENCH_STEP_TIMEOUT": "2", "OMP_NUM_THREADS": "1"}
    process = replace(good.processes[0], argv=(sys.executable, str(program)), env=env)
    end, events = supervise(replace(good, processes=(process,)))
    assert end.outcome is Outcome.FAILED
    (ended,) = [event for event in events if isinstance(event, Ended)]
    named = "rank 1 hangs in `time.sleep(3600)` (hanging_rank.py:"
    assert ended.reason.startswith(named)
    assert " in train); rank 0 waits in barrier (rank 0: " in ended.reason


def test_what_still_measures_does_not_hang():
    text = EMIT + "[rate() or time.sleep(0.01) for _ in range(20)]; print('up', flush=True)\n"
    text += "while True: rate(); time.sleep(0.01)"
    end, events = supervise_past_deadline(launch(text), up=1)
    assert end.processes[0].calls == ()
    assert isinstance(events[-1], Ended)
    assert re.fullmatch(
        r"ended at its max_duration of 600 s: it goes on: \d+ observations, the last data came "
        r"[\d.]+ s before its deadline; raise max_duration",
        events[-1].reason,
    )


def test_a_signal_is_sent_to_those_alone_that_catch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder has a file of a process that does not catch it, such as one that was replaced."""
    pid = os.getpid()
    (tmp_path / str(pid)).touch()
    assert signal.getsignal(stacks.SIGNAL) is signal.SIG_DFL  # it would end this process
    monkeypatch.setattr(py_spy.shutil, "which", lambda name, path: None)
    monkeypatch.setattr(stacks.time, "sleep", None)  # there is nothing to wait for
    ((seen,),) = stacks.look([stacks.Look(lambda: {pid}, pid, 3, tmp_path)])
    assert (seen.pid, seen.call.rank, seen.is_rank, list(seen.threads)) == (pid, 3, True, [])


@pytest.mark.parametrize("program", [b"\x7fELF", b"#!/none\n", b"#!/bin/sh\nprintf '\\377'\n"])
def test_py_spy_that_does_not_work_and_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: bytes
):
    monkeypatch.setattr(stacks, "PATIENCE", 0.0)
    spy = tmp_path / "py-spy"
    spy.write_bytes(program)
    spy.chmod(0o755)
    monkeypatch.setattr(py_spy.shutil, "which", lambda name, path: str(spy))
    command = ["sh", "-c", "read line; exit", "sh", "--token", "hunter2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        look = stacks.Look(lambda: {child.pid}, child.pid, 0, tmp_path / "none")
        ((found,),) = stacks.look([look])
        assert child.poll() is None
        child.kill()
    assert found.is_rank
    assert not found.threads
    assert "hunter2" not in found.command


STACK = b'Thread 0x1 (most recent call first):\n  File "main.py", line 3 in \xff\n'


def test_what_a_program_puts_among_the_stacks_is_left_alone(tmp_path: Path):
    (tmp_path / "7.1.sigterm").write_bytes(STACK)
    (tmp_path / "8.0.sigterm").write_bytes(STACK + b"\0" * 10_000_000)
    for name in ("a.b", "1.2.3", "1", "-1.0", f"{'9' * 200}.0", "\u0663.0", "1.0\n"):
        (tmp_path / f"{name}.sigterm").write_bytes(STACK)
    os.mkfifo(tmp_path / "3.0.sigterm")
    (tmp_path / "4.0.sigterm").mkdir()
    (tmp_path / "5.0.sigterm").symlink_to("/dev/zero")
    (tmp_path / "6.0.sigterm").symlink_to("6.0.sigterm")
    found = stacks.ended_ranks(tmp_path)
    assert [(seen.pid, seen.call.rank) for seen in found] == [(8, 0), (7, 1)]
    assert str(found[1].threads[0][0]) == "main.py:3 in \\xff"


def test_the_answer_of_a_process_may_be_no_file_and_its_name_no_text(tmp_path: Path):
    code = (
        "import ctypes, os, signal, sys, time\n"
        f"signal.signal({int(stacks.SIGNAL)}, lambda *_: None)\n"
        "ctypes.CDLL(None).prctl(15, b'\\xff) \\xfe', 0, 0, 0)\n"
        f"os.mkfifo({str(tmp_path)!r} + f'/{{os.getpid()}}')\n"
        "print(flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        look = stacks.Look(lambda: {process.pid}, process.pid, 0, tmp_path)
        ((found,),) = stacks.look([look])
        process.kill()
    assert found.is_rank
    assert not any(found.threads)


def test_a_fifo_among_the_stacks_holds_up_no_end():
    code = "import os, sys\nos.mkfifo(os.environ['MILABENCH_STACKS'] + '/1.0.sigterm')\nsys.exit(3)"
    job = launch(code, njobs=True)
    end, _ = supervise(replace(job, processes=(replace(job.processes[0], job=0),)))
    assert end.processes[0].reason == "exit status 3"
