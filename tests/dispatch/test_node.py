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
from typing import Any

import pytest

from milabench_ddp.dispatch import wire
from milabench_ddp.dispatch.address import announce
from milabench_ddp.dispatch.channel import Channel
from milabench_ddp.dispatch.node import NodeAgent, free_ports
from milabench_ddp.launch.runner import Runner, Samples
from milabench_ddp.plan.command import Process
from milabench_ddp.results.rundir import RunDir
from milabench_ddp.results.write import Heading
from tests.make import benchmark

from .make import QUICK, plan
from .scripted import wait_for

RATE = """
import json, os, sys, time
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\\n")
"""
STAYS = RATE + "print(os.getpid(), flush=True)\ntime.sleep(100)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + STAYS


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run_order(text: str, launch: str) -> dict[str, Any]:
    argv = (sys.executable, "-u", "-c", text)
    process = wire.of_process(Process(("b", "D0", "node0"), argv, {}, 0, (0,)))
    order = {"do": "run", "id": launch, "benchmark": "b", "repeat": None, "nodes": 2}
    return {**order, "processes": [process]}


class Started:
    """The agent of node 0, and the leader's end of its channel."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.rundir = RunDir(folder)
        (folder / "b").mkdir(exist_ok=True)
        plan(benchmark("b"), gpus=1).save(self.rundir.plan_json)
        words = [str(folder), "--rank", "0", "--of", "1", *more]
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "milabench_ddp.dispatch", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.popen.stdin
        assert self.popen.stdout
        self._to, self._from = self.popen.stdin, self.popen.stdout

    def send(self, **message: Any) -> None:
        self._to.write(json.dumps(message).encode() + b"\n")
        self._to.flush()

    def hears(self, say: str) -> dict[str, Any]:
        """The next message of this kind; signs of life may come before it."""
        while line := self._from.readline():
            message: dict[str, Any] = json.loads(line)
            if message["say"] == say:
                return message
            assert message["say"] == "beat", message
        raise AssertionError(f"it is gone: {self.popen.stderr and self.popen.stderr.read()!r}")

    def run(self, text: str, launch: str = "1") -> None:
        self.send(**run_order(text, launch))

    def program(self) -> int:
        """The pid of the program, as soon as it runs."""
        out = self.rundir.path / "b.D0.node0.stdout"
        wait_for(lambda: out.exists() and out.read_text().endswith("\n"))
        return int(out.read_text().split()[0])

    def leave(self) -> None:
        """The leader is gone."""
        self._to.close()

    def code(self) -> int:
        return self.popen.wait(20)

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        with self.popen:
            pass


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


class Listening:
    """A leader that announces itself, and hears one agent."""

    def __init__(self, where: Path) -> None:
        self._server, self.token = announce(where, "127.0.0.1")
        self._server.settimeout(20)
        self._closed = threading.Event()

    def meet(self) -> Channel:
        connection, _ = self._server.accept()
        self._channel = Channel.of_socket(connection, 20.0)
        return self._channel

    def beat(self) -> None:
        """Give signs of life from now on."""

        def send() -> None:
            while not self._closed.wait(0.2):
                self._channel.send(do="beat")

        threading.Thread(target=send, daemon=True).start()

    def hears(self, say: str) -> dict[str, Any]:
        while messages := self._channel.receive():
            for message in messages:
                if message["say"] == say:
                    return message
        raise AssertionError("it is gone")

    def close(self) -> None:
        self._closed.set()
        self._channel.close()
        self._server.close()


def test_after_a_silent_leader_it_serves_the_next(tmp_path: Path) -> None:
    """It ends what it ran, and hears nothing more of the old one, whose connection still stands."""
    where = tmp_path / "leader"
    first = Listening(where)
    agent = Started(tmp_path, "--leader", str(where), "--patience", "1.5")
    old = first.meet()
    assert first.hears("hello")["token"] == first.token
    old.send(**run_order(STAYS, "1"))
    pid = agent.program()
    second = Listening(where)
    new = second.meet()
    second.beat()
    assert second.hears("hello")["token"] == second.token != first.token
    assert not exists(pid)
    agent.rundir.stream("b.D0.node0", "stdout").unlink()
    new.send(**run_order(STAYS, "2"))
    pid = agent.program()
    old.send(do="stop", id="2", why="not yours any more")
    old.send(do="end")
    new.send(do="beat")
    second.hears("beat")
    assert exists(pid)
    new.send(do="stop", id="2", why="that is enough")
    assert second.hears("ended")["end"]["reason"] == "that is enough"
    new.send(do="end")
    assert agent.code() == 0
    assert agent.popen.stderr
    assert agent.popen.stderr.read() == b"node 0: it gave no sign of life for 1.5 s\n"
    for each in (first, second, agent):
        each.close()


def test_asked_to_end_while_it_had_no_leader(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    heading = Heading("r", "cpu", {})
    runner = Runner(RunDir(tmp_path), heading, Samples(), os.environ, 1.0)
    agent = NodeAgent({}, runner, QUICK)
    agent.stop()
    agent.serve(Channel(ours.fileno(), ours.fileno(), ours.close), {})
    ours.close()
    assert theirs.recv(1) == b""  # it did not even say hello
    theirs.close()
