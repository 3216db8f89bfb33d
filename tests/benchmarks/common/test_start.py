"""The barrier against both supervisors that keep the contract, over real FIFOs."""

import json
import os
import threading
import time

import pytest

from benchmarks.common import start
from benchmarks.common.metrics import Emitter


@pytest.fixture
def gate(tmp_path, monkeypatch):
    path = tmp_path / "start"
    os.mkfifo(path)
    monkeypatch.setenv("MILABENCH_START", str(path))
    return path


class Program(threading.Thread):
    """A program that is about to wait; what it says is seen through a pipe."""

    def __init__(self):
        super().__init__(daemon=True)
        self.said, write = os.pipe()
        self._emitter = Emitter(lambda p: os.write(write, json.dumps(p).encode() + b"\n"))
        self.start()

    def run(self):
        start.barrier(self._emitter)

    def hear(self):
        return json.loads(os.read(self.said, 4096))


def test_opened_when_all_are_ready(gate):
    programs = [Program() for _ in range(3)]
    for program in programs:
        assert program.hear() == {"$event": "ready", "$data": {}}
    before = time.monotonic()
    os.close(os.open(gate, os.O_WRONLY))  # opened and closed at once: nobody may miss it
    for program in programs:
        begin = program.hear()
        assert begin["$event"] == "begin"
        assert before <= begin["$data"]["time"] <= time.monotonic()


def test_held_open_until_all_are_ready(gate):
    holder = os.open(gate, os.O_RDWR)
    program = Program()
    assert program.hear()["$event"] == "ready"
    writer = os.open(gate, os.O_WRONLY)
    os.write(writer, b"a byte that says nothing")
    os.close(holder)
    program.join(0.05)
    assert program.is_alive()
    os.close(writer)
    assert program.hear()["$event"] == "begin"


def test_nobody_to_wait_for():
    sent = []
    start.barrier(Emitter(sent.append))
    assert sent == []
