"""The runner of a run on parts of this host, each of which stands in for a node."""

import os
from collections.abc import Mapping

from ...errors import DispatchError
from ...machine.detect import detect, partition
from ...machine.devices import Cluster
from ..agent_main import AgentOptions
from ..node_request import NodeRequest
from ..run_context import RunContext
from .agents import AgentCommand, AgentRunner, agent_script

MOST_PARTS = 254  # of this host: each has an address of its own, from 127.0.0.1 on


class LocalRunner(AgentRunner):
    """Runs on parts of this host as nodes: to develop and test without a cluster."""

    def cluster(self, request: NodeRequest) -> Cluster:
        if request.nodes > MOST_PARTS:
            raise DispatchError(
                f"{request.nodes} nodes: this host stands in for at most {MOST_PARTS}: give fewer "
                "with --nodes, or other hosts with --runner"
            )
        host = request.detect()
        here = len(host.nodes[0].devices)
        devices = request.devices or max(1, here // request.nodes)
        if host.has_gpu:
            here = len(detect(host.arch, None, os.environ).nodes[0].devices)
            if devices * request.nodes > here:
                raise DispatchError(
                    f"{request.nodes} nodes of {devices} GPUs are more than the {here} of this "
                    f"host: give fewer with --nodes or --gpus, or add --runner slurm"
                )
        parts = []
        for rank in range(request.nodes):
            parts.append(partition(host.arch, devices, rank, request.nodes, os.environ))
        return Cluster(host.arch, tuple(parts))

    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        profile = context.plan.runner
        assert profile is not None
        nodes = context.plan.nodes + context.plan.spare
        commands = {}
        for rank in range(nodes):
            # All of 127.0.0.0/8 is loopback: each node gets its own address.
            options = AgentOptions(context.run.path, rank, f"127.0.0.{rank + 1}", parts=nodes)
            script = agent_script(options, profile)
            commands[f"node{rank}"] = AgentCommand(("bash", "-c"), script)
        return commands
