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
    log = AgentLog(path, limit)
    for chunk in chunks:
        log.add(chunk)
    assert not log.is_whole.is_set()
    log.end()
    assert log.is_whole.is_set()
    return path.read_text()


def test_lines_are_written_when_they_are_whole(tmp_path: Path) -> None:
    log = AgentLog(tmp_path / "nodes" / "n0.log")
    log.add(b"one\ntw")
    assert log.path.read_text() == "one\n"
    log.add(b"o\nrest")
    log.end()
    assert log.path.read_text() == "one\ntwo\nrest"


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
    with log._file, open("/dev/full", "wb", buffering=0) as log._file:
        log.add(b"lost\n")
        log.end()
    assert log.is_whole.is_set()


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
    log._file.close()
    log._file = disk
    read, write = os.pipe()
    logs.add(read, log)
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
        logs.add(read, AgentLog(tmp_path / name))
        os.write(write, name.encode())
        writers.append(write)
    os.close(writers[0])
    logs.close(0.1)  # the other pipe is still open
    assert [(tmp_path / name).read_text() for name in ("n0", "n1")] == ["n0", "n1"]
    with pytest.raises(BrokenPipeError):
        os.write(writers[1], b"more")
    os.close(writers[1])
