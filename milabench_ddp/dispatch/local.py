"""Several nodes on one machine: an agent each, over loopback, with the devices shared out."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .channel import Channel

_LEAVE = 10.0  # seconds beyond the grace for an agent that was told to end


@contextmanager
def agents(run: Path, nodes: int, grace: float) -> Iterator[list[Channel]]:
    """Start them; at the end each has ended, by itself or not.

    What they have to say beside their results stands in ``<run>/nodes/``.
    """
    folder = run / "nodes"
    folder.mkdir(exist_ok=True)
    started: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        channels = []
        for rank in range(nodes):
            log = stack.enter_context((folder / f"node{rank}.log").open("ab"))
            words = [str(run), "--rank", str(rank), "--of", str(nodes)]
            words += ["--address", f"127.0.0.{rank + 1}"]  # all of 127.0.0.0/8 is loopback
            popen = subprocess.Popen(
                [sys.executable, "-m", "milabench_ddp.dispatch", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # the terminal's Ctrl-C is the leader's alone
            )
            started.append(popen)
            channels.append(channel_of(popen))
        try:
            yield channels
        finally:
            leave(started, grace + _LEAVE)


def channel_of(popen: subprocess.Popen[bytes]) -> Channel:
    """The channel over the pipes of a process."""
    stdin, stdout = popen.stdin, popen.stdout
    assert stdin is not None
    assert stdout is not None

    def close() -> None:
        stdin.close()
        stdout.close()

    return Channel(stdout.fileno(), stdin.fileno(), close)


def leave(started: list[subprocess.Popen[bytes]], patience: float) -> None:
    """Wait for agents that have lost their leader, or were told to end; kill what stays."""
    for popen in started:
        if popen.stdin is not None:
            popen.stdin.close()
    for popen in started:
        try:
            popen.wait(patience)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
        if popen.stdout is not None:
            popen.stdout.close()
