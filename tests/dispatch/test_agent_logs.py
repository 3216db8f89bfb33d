"""The logs of agents: whole lines, without secrets, up to a limit, from a thread of their own."""

import io
import os
import threading
from pathlib import Path

import pytest

from milabench_ddp.dispatch import agent_process
from milabench_ddp.dispatch.agent_process import AgentLog, AgentLogs
from milabench_ddp.hidden import SECRETS


def written(path: Path, *chunks: bytes, limit: float = 64.0) -> str:
    """What a log has of these chunks, which come one by one through the pipe of one agent."""
    return printed({None: AgentLog(path, limit)}, *chunks)[0]


def printed(logs: dict[int | None, AgentLog], *chunks: bytes) -> list[str]:
    """The texts of logs to which a pipe with these chunks is written."""
    pipe = agent_process._Pipe(logs)
    for chunk in chunks:
        pipe.add(chunk)
    pipe.end()
    assert all(log.is_whole.is_set() for log in logs.values())
    return [log.path.read_text() if log.path.exists() else "" for log in logs.values()]


def test_lines_are_written_when_they_are_whole(tmp_path: Path) -> None:
    log = AgentLog(tmp_path / "nodes" / "n0.log")
    pipe = agent_process._Pipe({None: log})
    pipe.add(b"one\ntw")
    assert log.path.read_text() == "one\n"
    pipe.add(b"o\nrest")
    pipe.end()
    assert log.path.read_text() == "one\ntwo\nrest"


def step_of(folder: Path, count: int = 3) -> dict[int | None, AgentLog]:
    return {task: AgentLog(folder / f"n{task}") for task in range(count)}


def test_the_lines_of_a_step_go_to_the_logs_of_its_tasks(tmp_path: Path) -> None:
    found = printed(
        step_of(tmp_path),
        b"1: one\n 0: with \r and : \nsrun: step crea",
        b"ted\n9: of nobody\nsrun: error: n[0,2]: tasks 0,2: Killed\n1: rest",
    )
    killed = "srun: error: n[0,2]: tasks 0,2: Killed\n"
    assert found == [
        f"with \\u000d and : \nsrun: step created\n{killed}",
        "one\nsrun: step created\nrest",
        f"srun: step created\n{killed}",
    ]


def test_a_secret_that_srun_cuts_is_hidden(tmp_path: Path) -> None:
    """It cuts lines of more than 1,024 bytes, and labels each part."""
    SECRETS.learn_environ({"SITE_PASSWORD": "hunter2-site"})
    text = b"x" * 1020 + b"hunter2-site" + b"y" * 2000
    parts = [b"1: " + text[at : at + 1024] + b"\n" for at in range(0, len(text), 1024)]
    found = printed(step_of(tmp_path), parts[0], b"0: another\n", *parts[1:])
    assert found[1] == f"{'x' * 1020}(hidden: SITE_PASSWORD){'y' * 2000}\n"


@pytest.mark.parametrize("is_srun_first", [False, True])
def test_a_log_is_whole_once_the_shell_and_srun_have_told_the_end(
    tmp_path: Path, is_srun_first: bool
) -> None:
    logs = step_of(tmp_path)
    pipe = agent_process._Pipe(logs)
    said = [
        b'2: last\n2: {"type":"AgentEnded","status":3}\n',
        b"srun: error: n2: task 2: Exited with exit code 3\n",
    ]
    for part in reversed(said) if is_srun_first else said:
        assert not logs[2].is_whole.is_set()
        pipe.add(part)
    assert [log.is_whole.is_set() for log in logs.values()] == [False, False, True]
    assert "AgentEnded" not in logs[2].path.read_text()
    pipe.end()


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    assert written(tmp_path / "log", b"first\n") == "first\n"
    log = AgentLog(tmp_path / "log")
    assert log.start == len("first\n")
    log.end()
    assert written(tmp_path / "log", b"second\n") == "first\nsecond\n"


def test_a_secret_that_arrives_in_pieces_is_hidden(tmp_path: Path) -> None:
    SECRETS.learn_environ({"SITE_PASSWORD": "hunter2-site"})
    text = written(tmp_path / "log", b"with hunt", b"er2-s", b"ite\n", b"and hunter2-site")
    assert text == "with (hidden: SITE_PASSWORD)\nand (hidden: SITE_PASSWORD)"


def test_escapes_are_visible_and_lines_of_ssh_end_as_others(tmp_path: Path) -> None:
    assert written(tmp_path / "log", b"ssh: no route\r\n\x1b[2J\xff\r\n") == (
        "ssh: no route\n\\u001b[2J\\xff\n"
    )


def test_a_flood_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    lines = [b"line %06d\n" % number for number in range(10_000)]
    text = written(tmp_path / "log", *lines, b"the last", limit=0.01)
    assert len(text) < 11_000
    assert text.startswith("line 000000\n")
    assert text.endswith("line 009999\nthe last")
    assert " are left out here]\n" in text


def test_a_full_disk_stops_no_agent(tmp_path: Path) -> None:
    log = AgentLog(tmp_path / "log")
    with open("/dev/full", "wb", buffering=0) as log._file:
        assert printed({None: log}, b"lost\n") == [""]


class HangingDisk(io.BytesIO):
    """A file whose writes do not return until the test is over."""

    def __init__(self) -> None:
        super().__init__()
        self.is_reached, self.is_over = threading.Event(), threading.Event()

    def write(self, data: object) -> int:
        self.is_reached.set()
        self.is_over.wait()
        return 0


def test_a_disk_that_hangs_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_process, "_WRITE", 0.01)
    log, disk, logs = AgentLog(tmp_path / "log"), HangingDisk(), AgentLogs()
    log._file = disk
    read, write = os.pipe()
    logs.add(read, {None: log})
    os.write(write, b"text\n")
    disk.is_reached.wait()
    logs.close(0.01)
    assert not log.is_whole.is_set()
    os.close(write)
    disk.is_over.set()
    log.is_whole.wait()


def test_pipes_end_one_by_one_and_all_at_the_close(tmp_path: Path) -> None:
    logs, writers = AgentLogs(), []
    for name in ("n0", "n1"):
        read, write = os.pipe()
        logs.add(read, {None: AgentLog(tmp_path / name)})
        os.write(write, name.encode())
        writers.append(write)
    os.close(writers[0])
    logs.close(0.1)  # the other pipe is still open
    assert [(tmp_path / name).read_text() for name in ("n0", "n1")] == ["n0", "n1"]
    with pytest.raises(BrokenPipeError):
        os.write(writers[1], b"more")
    os.close(writers[1])
