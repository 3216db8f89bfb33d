"""An agent in a process of its own, led by the test over its standard input and output."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from milabench_ddp.dispatch import wire
from milabench_ddp.plan.launch import Process
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.wait import wait_for

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
