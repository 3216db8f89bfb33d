"""An agent in its own process; the test is its coordinator, over standard input and output."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, StartLaunch, Timeouts, ToAgent
from milabench_ddp.dispatch.runners.agents import agent_command
from milabench_ddp.dispatch.transport import Connection, Stream
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.wait import PATIENCE, wait_for

Message = TypeVar("Message", bound=FromAgent)

RATE = """
import json, os, sys, time
with open(os.environ["MILABENCH_METRICS"], "w") as channel:
    channel.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\\n")
"""
STAYS = RATE + "print(os.getpid(), flush=True)\ntime.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + STAYS


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_launch(text: str, launch: str) -> StartLaunch:
    argv = (sys.executable, "-u", "-c", text)
    process = Process(("b", "D0", "node0"), argv, {}, 0, (0,))
    return StartLaunch(launch, Launch(benchmark("b"), None, (process,), 2))


class StartedAgent:
    """The agent of node 0, and the coordinator's end of its connection."""

    def __init__(
        self,
        folder: Path,
        timeouts: Timeouts | None = None,
        *,
        job: str = "",
        **environ: str,
    ) -> None:
        self.run = RunDir(folder)
        (folder / "b").mkdir(exist_ok=True)
        write_record(self.run.plan_json, plan(benchmark("b"), gpus=1))
        options = AgentOptions(folder, 0, parts=1, job=job, timeouts=timeouts or Timeouts())
        self.popen = subprocess.Popen(
            agent_command(options, RunnerProfile("local")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environ},
        )
        assert self.popen.stdin
        assert self.popen.stdout
        self._stdin = self.popen.stdin
        stream = Stream(self.popen.stdout.fileno(), self.popen.stdin.fileno())
        self._connection = Connection[FromAgent](stream, FromAgent)
        self._heard: list[FromAgent] = []  # and not looked at

    def send(self, message: ToAgent) -> None:
        assert self._connection.send(message)

    def next(self) -> FromAgent:
        """The next message that is not a heartbeat."""
        while True:
            while self._heard:
                message = self._heard.pop(0)
                if not isinstance(message, Heartbeat):
                    return message
            messages = self._connection.receive()
            assert messages is not None, f"it is gone: {self.stderr()!r}"
            self._heard += messages

    def says(self, kind: type[Message]) -> Message:
        """The next message, which must be of this type."""
        message = self.next()
        assert isinstance(message, kind), message
        return message

    def waits_for_heartbeats(self, count: int) -> None:
        """Wait until it has sent this many heartbeats from now on, and no other message."""
        self._heard = [each for each in self._heard if not isinstance(each, Heartbeat)]
        while count > 0:
            messages = self._connection.receive()
            assert messages is not None, f"it is gone: {self.stderr()!r}"
            assert all(isinstance(each, Heartbeat) for each in messages), messages
            count -= len(messages)

    def start(self, text: str, launch: str = "1") -> None:
        """Start a launch; its coordinator has set the files of an earlier one aside."""
        for path in filter(Path.is_file, self.run.path.glob("b.D0.*")):
            path.unlink()
        self.send(start_launch(text, launch))

    def program(self) -> int:
        """The pid of the program, as soon as it runs."""
        out = self.run.stream("b.D0.node0", "stdout")
        wait_for(lambda: out.exists() and out.read_text().endswith("\n"))
        return int(out.read_text().split()[0])

    def leave(self) -> None:
        """Close the connection: the agent loses its coordinator."""
        self._stdin.close()

    def code(self) -> int:
        return self.popen.wait(PATIENCE)

    def stderr(self) -> bytes:
        """Wait for the agent to end; returns what it printed on standard error."""
        assert self.popen.stderr
        return self.popen.stderr.read()

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        with self.popen:
            pass
