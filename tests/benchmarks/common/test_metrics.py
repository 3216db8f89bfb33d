import json
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.common import metrics
from tests.support.programs import BENCHMARKS

TIMES = st.lists(st.floats(0, 1e6), min_size=1, max_size=1000)


@given(ms=TIMES, first=st.integers(0, 10**6), rank=st.integers(0, 10**4))
def test_step_times_arrive_whole_in_lines_that_are_atomic(ms, first, rank):
    sent = []
    metrics.Emitter(sent.append).step_times(rank, first, ms, ms)
    (payload,) = sent
    lines = [metrics.encode(part) for part in metrics.split_steps(payload)]
    parts = [json.loads(line)["step_times"] for line in lines]
    assert all(len(line) <= 4096 for line in lines)
    assert [value for part in parts for value in part["ms"]] == [round(value, 4) for value in ms]
    assert {part["rank"] for part in parts} == {rank}
    index = first
    for part in parts:
        assert part["from"] == index
        assert len(part["ms"]) == len(part["wait_ms"])
        index += len(part["ms"])


@given(ms=TIMES, count=st.integers(1, 5))
def test_the_parts_of_each_step_arrive_whole(ms, count):
    sent, names = [], [f"part {k}" for k in range(count)]
    metrics.Emitter(sent.append).step_times(0, 3, ms, ms, dict.fromkeys(names, ms))
    lines = [metrics.encode(part) for part in metrics.split_steps(sent[0])]
    chunks = [json.loads(line)["step_times"] for line in lines]
    for name in names:
        joined = [value for chunk in chunks for value in chunk["parts"][name]]
        assert joined == [round(value, 4) for value in ms]
    assert all(len(chunk["parts"][names[0]]) == len(chunk["ms"]) for chunk in chunks)


def test_no_steps_are_no_line():
    sent = []
    metrics.Emitter(sent.append).step_times(0, 5, [], [])
    assert sent == []


def test_a_line_that_would_not_be_atomic_is_refused():
    metrics.encode({"text": "x" * 4084})  # 12 bytes of JSON around it, the newline among them
    with pytest.raises(metrics.LineTooLongError, match="4097 bytes"):
        metrics.encode({"text": "x" * 4085})


def test_vocabulary(wire):
    emitter = metrics.Emitter.from_environment()
    emitter.event("ready")
    emitter.rate("train", 812.5, "images/s", step=3, elapsed=0.25, steps=2)
    emitter.data("train", loss=float("nan"), step=3)
    emitter.data("main", rank=1, memory_peak=[10.5, 12.0])
    ready, rate, loss, memory = wire.close()
    assert ready == {"$event": "ready", "$data": {}}
    assert abs(rate.pop("time") - time.time()) < 60
    assert rate == {
        "task": "train", "rank": 0, "rate": 812.5, "units": "images/s",
        "elapsed": 0.25, "step": 3, "steps": 2,
    }  # fmt: skip
    assert loss["loss"] != loss["loss"]
    assert memory == {"task": "main", "rank": 1, "memory_peak": [10.5, 12.0]}


def test_rank_is_torchruns(wire, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    metrics.Emitter.from_environment().data("main", x=1)
    assert wire.close() == [{"task": "main", "rank": 3, "x": 1}]


def test_a_reader_that_vanishes_ends_nothing(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    send = metrics.Channel(str(path))
    send({"n": 1})
    assert os.read(reader, 100) == b'{"n":1}\n'
    os.close(reader)
    send({"n": 2})
    send({"n": 3})
    metrics.Channel(str(path))({"n": 4})  # there never was a reader: it does not wait for one


def test_a_full_pipe_delays_and_loses_nothing(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR)
    script = (
        "from benchmarks.common.metrics import Channel\nimport sys\nsend = Channel(sys.argv[1])\n"
        "for n in range(100): send({'who': sys.argv[2], 'n': n, 'text': 'x' * 4000})"
    )
    env = os.environ | {"PYTHONPATH": str(BENCHMARKS.parent)}
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(path), str(k)], env=env)
        for k in range(3)
    ]
    data = b""
    while data.count(b"\n") < 300:
        data += os.read(reader, 65536)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    os.close(reader)
    seen = [json.loads(line) for line in data.splitlines()]
    for k in range(3):
        assert [line["n"] for line in seen if line["who"] == str(k)] == list(range(100))


def test_a_channel_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        metrics.Channel(str(tmp_path / "nothing"))


RATE = {"task": "train", "rank": 0, "rate": 812.5, "units": "images/s", "step": 3, "time": 1.0}


def test_lines():
    times = {"rank": 1, "from": 5, "ms": [1.0, 2.0, 5.0], "wait_ms": [0.5, 0.5, 1.0]}
    payloads = [
        RATE,
        RATE | {"warmup": True, "rate": 0.1034},
        {"task": "train", "rank": 0, "loss": 7.1, "step": 3},
        {"task": "main", "rank": 2, "memory_peak": [10.5, 12.0]},
        {"task": "main", "rank": 0, "step_times": times},
        {"$event": "begin", "$data": {"time": 2.5}},
        {"$event": "ready", "$data": {}},
    ]
    assert [metrics.text(payload) for payload in payloads] == [
        "train         812.50 images/s  step 3",
        "train         0.1034 images/s  step 3  (warm-up)",
        "train   rank 0  loss 7.1000  step 3",
        "main    rank 2  memory_peak [10.5, 12.0]",
        "main    rank 1  steps 5-7: median 2.000 ms, maximum 5.000 ms, "
        "25.0 % of it waiting for data",
        "begin   time 2.5000",
        "ready",
    ]


def test_an_error_is_left_to_stderr(capsys):
    metrics.print_payload({"$event": "error", "$data": {"type": "ValueError"}})
    metrics.print_payload(RATE)
    assert capsys.readouterr().out == "train         812.50 images/s  step 3\n"
