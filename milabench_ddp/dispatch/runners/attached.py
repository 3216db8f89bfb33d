"""Runners whose run ends with the command: on this host alone, or on agents that they start."""

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from ...config.runner_profile import RunnerProfile
from ...config.schema import Benchmark
from ...errors import DispatchError, MachineError
from ...events import Outcome
from ...launch.stop_requests import StopRequests, stopped_by_signals
from ...machine.detect import detect, partition
from ...machine.devices import Cluster
from ...machine.provenance import meta
from ...progress import ProgressObserver
from ...results.run_dir import RunDir
from ..agent_main import AgentOptions
from ..coordinator import Coordinator
from ..gpu_preflight import check_gpus
from ..node_records import NodeRecords
from ..node_request import NodeRequest
from ..nodes import Nodes
from ..run_context import RunContext, RunPlan
from ..this_host import ThisHost, launch_runner
from .agents import AgentCommand, agent_script, agents
from .base import Runner

MOST_PARTS = 254  # of this host: each has an address of its own, from 127.0.0.1 on


@contextmanager
def this_host(
    run: RunDir,
    plan: RunPlan,
    machine: Mapping[str, Any],
    requests: StopRequests,
    observer: ProgressObserver,
    warnings: tuple[str, ...] = (),
) -> Iterator[Nodes]:
    """This host as the only node, in this process.

    Args:
        run: the run folder.
        plan: the plan of the run.
        machine: the provenance of this host.
        requests: where requests to stop arrive.
        observer: is told what happens.
        warnings: of the preflight of this host.

    Raises:
        MachineError: this host does not have the devices.
    """
    node = detect(plan.arch, plan.gpus, os.environ).cluster.nodes[0]
    if warnings:
        records = NodeRecords(run, [node.name], observer)
        records.meet(node.name, node.name, {}, warnings)
        records.tell()
    with launch_runner(run, plan, node, meta(machine), os.environ) as runner:
        yield ThisHost(node, runner, requests, observer.event)


class AttachedRunner(Runner):
    """Base of the runners whose run ends with the command that starts it."""

    @abstractmethod
    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        """The nodes of the run; ``requests`` can stop it."""

    def execute(self, context: RunContext, observer: ProgressObserver) -> Outcome:
        """Run the benchmarks to their end; Ctrl-C and SIGTERM stop them."""
        run = context.run
        with closing(StopRequests()) as requests, stopped_by_signals(requests):
            context.save()
            context.reset()
            with self.nodes(context, requests, observer) as nodes:
                coordinator = Coordinator(
                    run, context.plan, context.benchmarks, nodes, requests, observer
                )
                outcome = coordinator.execute()
            context.header.unwritten = coordinator.unwritten
            return context.finish(outcome)


class HostRunner(AttachedRunner):
    """Runs on this host, without an agent."""

    def cluster(self, request: NodeRequest) -> tuple[Cluster, bool]:
        """This host."""
        return request.detect().cluster, False

    def preflight(
        self, plan: RunPlan, benchmarks: Sequence[Benchmark], cluster: Cluster
    ) -> tuple[str, ...]:
        """Check the GPUs of this host."""
        return check_gpus(plan, benchmarks, cluster.nodes[0], os.environ)

    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        """This host."""
        machine = context.header.machine
        return this_host(context.run, context.plan, machine, requests, observer, context.warnings)


class AgentRunner(AttachedRunner):
    """Base of the runners that start an agent for each node."""

    @abstractmethod
    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        """The commands that start the agents, by the names of their nodes."""

    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        """The nodes of these agents."""
        return agents(context.run, context.plan, self.commands(context), requests, observer)


class LocalRunner(AgentRunner):
    """Runs on parts of this host as nodes: to develop and test without a cluster."""

    def cluster(self, request: NodeRequest) -> tuple[Cluster, bool]:
        """Parts of this host, each with as many devices as requested, or else an equal share."""
        if request.nodes > MOST_PARTS:
            raise DispatchError(
                f"{request.nodes} nodes: this host stands in for at most {MOST_PARTS}: give fewer "
                "with --nodes, or other hosts with --runner"
            )
        host = request.detect().cluster
        here = len(host.nodes[0].devices)
        devices = request.devices or max(1, here // request.nodes)
        if host.has_gpu:
            here = len(detect(host.arch, None, os.environ).cluster.nodes[0].devices)
            if devices * request.nodes > here:
                raise DispatchError(
                    f"{request.nodes} nodes of {devices} GPUs are more than the {here} of this "
                    f"host: give fewer with --nodes or --gpus, or add --runner slurm"
                )
        parts = []
        for rank in range(request.nodes):
            parts.append(partition(host.arch, devices, rank, request.nodes, os.environ))
        return Cluster(host.arch, tuple(parts)), False

    def preflight(
        self, plan: RunPlan, benchmarks: Sequence[Benchmark], cluster: Cluster
    ) -> tuple[str, ...]:
        """Check the GPUs of each part, unless commands prepare it: then only its agent can."""
        if plan.runner is not None and (plan.runner.setup or plan.runner.environment):
            return ()
        for node in cluster.nodes:
            try:
                check_gpus(plan, benchmarks, node, os.environ)
            except MachineError as error:
                raise MachineError(f"{node.name}: {error}") from error
        return ()  # the agents tell their warnings

    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        """An agent for each part of this host."""
        nodes, profile = context.plan.nodes, context.plan.runner or RunnerProfile("local")
        commands = {}
        for rank in range(nodes):
            # All of 127.0.0.0/8 is loopback: each node gets its own address.
            options = AgentOptions(context.run.path, rank, f"127.0.0.{rank + 1}", parts=nodes)
            script = agent_script(options, profile.setup, profile.environment)
            commands[f"node{rank}"] = AgentCommand(("bash", "-c"), script)
        return commands
