"""A node agent in a process of its own, led by the test over its standard input and output."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from milabench_ddp.dispatch import wire
from milabench_ddp.dispatch.channel import Channel
from milabench_ddp.dispatch.node import NodeAgent, free_ports
from milabench_ddp.events import Outcome
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import LaunchState
from milabench_ddp.results.write import DataHeader
from tests.support.dispatch import QUICK
from tests.support.launches import benchmark
from tests.support.started_agent import DEAF, RATE, STAYS, Started, exists, run_order


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Started]:
    it = Started(tmp_path)
    yield it
    it.close()


def test_it_says_who_it_is_and_runs_launches(agent: Started) -> None:
    hello = agent.hears("hello")
    assert (hello["rank"], hello["address"]) == (0, "127.0.0.1")
    node = wire.node(hello["node"])
    assert (node.name, len(node.devices)) == ("node0", 1)
    agent.send(do="ports", id="x", count=3)
    answer = agent.hears("ports")
    assert (answer["id"], len(set(answer["ports"]))) == ("x", 3)
    agent.run(RATE, "first")
    agent.run(RATE + "sys.exit(3)", "second")
    ends = [agent.hears("ended") for _ in range(2)]
    assert [(each["id"], each["end"]["outcome"]) for each in ends] == [
        ("first", "ok"),
        ("second", "failed"),
    ]
    assert ends[1]["end"]["reason"] == "exit status 3"
    agent.send(do="stop", id="third", why="its other nodes are gone")  # before it has begun
    agent.run(STAYS, "third")
    end = agent.hears("ended")["end"]
    assert (end["outcome"], end["reason"]) == ("cancelled", "its other nodes are gone")
    agent.send(do="end")
    assert agent.code() == 0
    assert '"rate": 1.0' in agent.rundir.data("b.D0.node0").read_text()


def test_stopped_in_the_midst_cleanly_and_then_hard(agent: Started) -> None:
    agent.hears("hello")
    agent.run(STAYS)
    pid = agent.program()
    agent.send(do="stop", id="another", why="not this one")
    agent.send(do="beat")
    agent.hears("beat")  # it goes on, and gives signs of life
    assert exists(pid)
    agent.send(do="stop", id="1", why="n1 is gone")
    end = agent.hears("ended")["end"]
    assert (end["outcome"], end["reason"]) == ("cancelled", "n1 is gone")
    assert not exists(pid)
    agent.rundir.stream("b.D0.node0", "stdout").unlink()
    agent.run(DEAF, "2")
    pid = agent.program()
    agent.send(do="stop", id="2", why="you were told", hard=True)
    assert agent.hears("ended")["end"]["processes"][0]["returncode"] == -signal.SIGKILL
    assert not exists(pid)


def test_when_its_leader_is_gone_it_ends_what_it_runs(agent: Started) -> None:
    agent.hears("hello")
    agent.run(DEAF)
    pid = agent.program()
    agent.leave()
    assert agent.code() == 1
    assert not exists(pid)
    assert agent.popen.stderr
    assert agent.popen.stderr.read() == b"node 0: it closed the connection\n"
    data = agent.rundir.data("b.D0.node0").read_text()
    assert "its leader is gone" in data  # the reason stands in its file


def test_sigterm_ends_the_launch_and_the_agent(agent: Started) -> None:
    agent.hears("hello")
    agent.run(STAYS)
    pid = agent.program()
    agent.popen.send_signal(signal.SIGTERM)
    end = agent.hears("ended")["end"]
    assert (end["outcome"], end["reason"]) == ("cancelled", "stopped on request")
    assert agent.code() == 0
    assert not exists(pid)


def test_sigterm_with_nothing_to_do(agent: Started) -> None:
    agent.hears("hello")
    agent.popen.send_signal(signal.SIGTERM)
    assert agent.code() == 0


def test_no_plan_is_said_to_the_leader(tmp_path: Path) -> None:
    it = Started(tmp_path)
    it.hears("hello")
    it.close()
    (tmp_path / "plan.json").unlink()
    words = [sys.executable, "-m", "milabench_ddp.dispatch", str(tmp_path), "--rank", "3"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    message = json.loads(done.stdout)
    assert message["say"] == "problem"
    assert message["text"].startswith(f"cannot read {tmp_path}/plan.json: No such file")
    assert done.stderr == f"node 3: {message['text']}\n"


def test_free_ports_are_free_and_no_two_the_same() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(1023 < port < 65536 for port in ports)


def test_a_disk_that_hangs_is_no_death(tmp_path: Path) -> None:
    """Signs of life are given while the launch is held up."""
    ours, theirs = socket.socketpair()
    goes_on = threading.Event()

    class Hangs:
        def run(self, *_: object) -> LaunchState:
            assert goes_on.wait(20)
            return LaunchState(None, Outcome.OK, "", None, None)

    agent = NodeAgent({"b": benchmark("b")}, cast(LaunchRunner, Hangs()), QUICK)
    channel = Channel(ours.fileno(), ours.fileno(), ours.close)
    thread = threading.Thread(target=agent.serve, args=(channel, {}))
    thread.start()
    theirs.sendall(json.dumps(run_order("", "1")).encode() + b"\n")
    lines = theirs.makefile("rb")
    said = [json.loads(lines.readline())["say"] for _ in range(20)]
    assert said == ["hello", *["beat"] * 19]
    goes_on.set()
    while (last := json.loads(lines.readline()))["say"] == "beat":
        pass
    assert (last["say"], last["id"]) == ("ended", "1")
    theirs.sendall(b'{"do":"end"}\n')
    thread.join(20)
    assert not thread.is_alive()
    for each in (channel, lines, theirs):
        each.close()


def test_asked_to_end_while_it_had_no_leader(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    header = DataHeader("r", "cpu", {})
    runner = LaunchRunner(RunDir(tmp_path), header, SampleRouter(), os.environ, 1.0)
    agent = NodeAgent({}, runner, QUICK)
    agent.stop()
    agent.serve(Channel(ours.fileno(), ours.fileno(), ours.close), {})
    ours.close()
    assert theirs.recv(1) == b""  # it did not even say hello
    theirs.close()
