"""Runs on hosts over ssh: the remote command is an agent, and its pipes are the connection.

When the connection ends, for any reason, the agent's standard input ends, and the agent ends its
launch: no remote process outlives the run.
"""

import socket
from collections.abc import Mapping
from pathlib import Path

from ...config.system import SystemNode
from ...errors import DispatchError
from ...machine.devices import Cluster
from ..agent_main import AgentOptions
from ..node_request import NodeRequest
from ..run_context import RunContext
from .agents import AgentCommand, AgentRunner, agent_script


class SshRunner(AgentRunner):
    """Runs on the hosts of a system file."""

    def cluster(self, request: NodeRequest) -> Cluster:
        if request.hosts and request.nodes > len(request.hosts):
            raise DispatchError(
                f"{request.nodes} nodes are needed, and the system file has {len(request.hosts)}: "
                f"give fewer with --nodes or --spare"
            )
        return super().cluster(request)

    def uses_this_host(self, request: NodeRequest) -> bool:
        return any(_is_this_host(host) or _is_own_address(host.address) for host in request.hosts)

    def check(self, request: NodeRequest) -> None:
        if not request.hosts:
            raise DispatchError("--runner ssh needs the hosts: give a system.yaml with --system")

    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        plan, commands = context.plan, {}
        assert plan.runner is not None
        hosts = sorted(plan.hosts[: plan.nodes + plan.spare], key=lambda host: not host.main)
        for rank, host in enumerate(hosts):
            options = AgentOptions(context.run.path, rank, host.address, host.name)
            script = agent_script(options, plan.runner)
            commands[host.name] = AgentCommand(shell_on(host, plan.sshkey), script)
        return commands


def shell_on(host: SystemNode, key: Path | None) -> tuple[str, ...]:
    """The words that run a command on a host; none but a shell on this host itself."""
    if _is_this_host(host):
        return ("sh", "-c")
    # No password prompt, since it would be invisible; keep-alives notice a host that is lost.
    words = [
        "ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5",
        "-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=15", "-p", str(host.sshport),
    ]  # fmt: skip
    if key is not None:
        words += ["-i", str(key)]
    where = f"{host.user}@{host.address}" if host.user else host.address
    return (*words, "--", where)


def _is_this_host(host: SystemNode) -> bool:
    names = {"localhost", "127.0.0.1", "::1", socket.gethostname()}
    return bool({host.address, host.name} & names)


def _is_own_address(host: str) -> bool:
    try:
        with socket.create_server((host, 0)):
            return True
    except OSError:
        return False
