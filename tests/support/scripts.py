"""Scripts of ``dry`` that are run, and programs that tell what they were given."""

import json
import subprocess
import sys
from tempfile import TemporaryDirectory

from milabench_ddp.launch.channel import METRICS, START
from milabench_ddp.launch.stacks import STACKS
from milabench_ddp.plan.launch import Launch, Process
from tests.support.launches import benchmark
from tests.support.wait import PATIENCE

# One write, so that the lines of two processes do not mix.
ECHO = """
import json, os, sys
line = json.dumps([sys.argv[1:], dict(os.environ)], sort_keys=True) + chr(10)
os.write(1, line.encode())
"""
ADDED = {METRICS, STACKS, START}  # by the supervisor: its channels


def bash(script: str, **options) -> subprocess.CompletedProcess[str]:
    with TemporaryDirectory() as folder:  # for the files of its metrics
        return subprocess.run(
            ["bash"],
            input=script,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            **{"cwd": folder, **options},
        )


def echoes(argv: list[str], env: dict[str, str]) -> Launch:
    processes = tuple(
        Process(("b", f"D{i}"), (sys.executable, "-S", "-c", ECHO, *argv, str(i)), env, 0, (i,))
        for i in range(2)
    )
    return Launch(benchmark(), None, processes)


def told(text: str) -> tuple[list[str], dict[str, str]]:
    argv, env = json.loads(text)
    return argv, {key: value for key, value in env.items() if key not in ADDED}
