"""Nodes whose agents this process starts: parts of this machine, or other hosts over ssh."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from ..errors import DispatchError
from ..results.run_dir import RunDir
from .channel import Channel

_LEAVE = 10.0  # seconds beyond the grace for an agent that was told to end


def parts(rundir: RunDir, nodes: int) -> dict[str, list[str]]:
    """The commands of the agents of this machine's parts, by the names of their nodes.

    All of 127.0.0.0/8 is loopback: each node has an address of its own.
    """
    return {
        f"node{rank}": agent(rundir, rank, f"127.0.0.{rank + 1}", "--of", str(nodes))
        for rank in range(nodes)
    }


def agent(rundir: RunDir, rank: int, address: str, *more: str) -> list[str]:
    """The command of a node's agent; the node is reached by the others at ``address``."""
    words = [str(rundir.path), "--rank", str(rank), "--address", address, *more]
    return [sys.executable, "-m", "milabench_ddp.dispatch", *words]


@contextmanager
def started(
    rundir: RunDir, commands: Mapping[str, Sequence[str]], grace: float
) -> Iterator[dict[str, Channel]]:
    """Start agents, and talk to them over their standard input and output.

    At the end each has ended, by itself or not: one whose input ends ends what it runs.

    Raises:
        DispatchError: one cannot be started.
    """
    running: list[subprocess.Popen[bytes]] = []
    channels: dict[str, Channel] = {}
    with ExitStack() as stack:
        stack.callback(_leave, running, grace + _LEAVE)
        for node, words in commands.items():
            path = rundir.node_log(node)
            try:
                path.parent.mkdir(exist_ok=True)
                with path.open("ab") as log:
                    popen = subprocess.Popen(
                        words,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        start_new_session=True,  # the terminal's Ctrl-C is the leader's alone
                    )
            except OSError as error:
                raise DispatchError(f"cannot start {words[0]}: {error.strerror}") from error
            running.append(popen)
            channels[node] = _channel(popen)
        yield channels


def _channel(popen: subprocess.Popen[bytes]) -> Channel:
    stdin, stdout = popen.stdin, popen.stdout
    assert stdin is not None
    assert stdout is not None

    def close() -> None:
        stdin.close()
        stdout.close()

    return Channel(stdout.fileno(), stdin.fileno(), close)


def _leave(running: Sequence[subprocess.Popen[bytes]], patience: float) -> None:
    """Wait for agents that have lost their leader, or were told to end; kill what stays."""
    for popen in running:
        if popen.stdin is not None:
            popen.stdin.close()
    for popen in running:
        try:
            popen.wait(patience)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
        if popen.stdout is not None:
            popen.stdout.close()
