"""Agents that look for their leader where it says it is."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

from milabench_ddp.dispatch.address import announce
from milabench_ddp.dispatch.channel import Channel
from tests.support.started_agent import STAYS, Started, exists, run_order
from tests.support.wait import wait_for


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


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for this signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_sigterm_while_it_looks_for_its_leader(tmp_path: Path) -> None:
    agent = Started(tmp_path, "--leader", str(tmp_path / "nowhere"))
    wait_for(lambda: catches(agent.popen.pid, signal.SIGTERM))
    began = time.monotonic()
    agent.popen.send_signal(signal.SIGTERM)
    assert agent.code() == 0
    assert time.monotonic() - began < 10
    agent.close()


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
