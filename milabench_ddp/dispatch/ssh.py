"""Hosts over ssh: the remote command is an agent, and the connection is its channel.

When the connection ends, for whatever reason, the agent's standard input ends, and it ends what it
runs: no remote process outlives the run.
"""

import shlex
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..config.system import SystemNode
from ..results.run_dir import RunDir
from .local import agent


def commands(
    rundir: RunDir,
    nodes: Sequence[SystemNode],
    key: Path | None,
    setup: Sequence[str],
    environment: Mapping[str, str],
) -> dict[str, list[str]]:
    """The commands that start the agents, by the names of their nodes; the main node is first.

    Args:
        rundir: the run folder, which all hosts see under the same path.
        nodes: the hosts; one that is this host needs no ssh.
        key: the private key, where it is not ssh's own choice.
        setup: shell commands to run before the agent.
        environment: what is exported to the agent.
    """
    ordered = sorted(nodes, key=lambda node: not node.main)
    found = {}
    for rank, node in enumerate(ordered):
        words = agent(rundir, rank, node.ip, "--name", node.name)
        exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
        script = " && ".join([*setup, *exports, f"exec {shlex.join(words)}"])
        found[node.name] = ["sh", "-c", script] if _is_here(node) else [*_ssh(node, key), script]
    return found


def _ssh(node: SystemNode, key: Path | None) -> list[str]:
    # No password is asked for, as nobody would see the question; a host that is gone is noticed.
    words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5"]
    words += ["-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=15", "-p", str(node.sshport)]
    words += ["-i", str(key)] if key is not None else []
    return [*words, "--", f"{node.user}@{node.ip}" if node.user else node.ip]


def _is_here(node: SystemNode) -> bool:
    names = {"localhost", "127.0.0.1", "::1", socket.gethostname()}
    return bool({node.ip, node.name} & names)
