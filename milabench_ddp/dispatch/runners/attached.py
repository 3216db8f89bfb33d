"""Runners whose run ends with the command: on this host alone, or on agents that they start."""

import os
import shlex
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from ...codec import encode
from ...config.runner_profile import RunnerProfile
from ...config.schema import Benchmark
from ...errors import DispatchError, MachineError
from ...events import Outcome
from ...launch.stop_requests import StopRequests, stopped_by_signals
from ...machine.detect import detect, partition
from ...machine.devices import Cluster
from ...machine.provenance import meta
from ...progress import ProgressObserver
from ...results.run_dir import RunDir, make_folder
from ..agent_main import AgentOptions
from ..agent_process import AgentProcess
from ..coordinator import Coordinator
from ..gpu_preflight import check_gpus
from ..membership import AgentConnection, Membership
from ..node_records import NodeRecords
from ..nodes import Nodes
from ..protocol import FromAgent, Timeouts
from ..run_context import RunContext, RunPlan
from ..this_host import ThisHost, launch_runner
from ..transport import Connection
from .base import NodeRequest, Runner

_LEAVE = 10.0  # seconds after the grace for an agent to end


def agent_command(options: AgentOptions) -> list[str]:
    """The command of a node's agent."""
    return [sys.executable, "-m", "milabench_ddp.dispatch.agent_main", encode(options).decode()]


def agent_script(
    options: AgentOptions, setup: Sequence[str], environment: Mapping[str, str]
) -> str:
    """A shell script that prepares a node, and then becomes its agent.

    Args:
        options: of the agent.
        setup: shell commands to run before; one that fails ends the script, and is named.
        environment: the variables to export to the agent.
    """
    lines = [*setup_lines(setup, environment), f"exec {shlex.join(agent_command(options))}"]
    return "\n".join(lines)


def setup_lines(setup: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The lines of a shell script for the ``setup`` and the ``environment`` of a runner profile.

    A command of ``setup`` may have a comment, and may change the shell, as ``module load`` does.
    """
    lines = []
    for command in setup:
        said = shlex.quote(f"the setup command failed: {command}")
        # Standard input and output are the agent's connection, or the rest of the script.
        run = f"eval {shlex.quote(command)} </dev/null >&2"
        lines.append(f"{run} || {{ code=$?; echo {said} >&2; exit $code; }}")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    return lines


@contextmanager
def started_agents(
    run: RunDir, commands: Mapping[str, Sequence[str]], grace: float
) -> Iterator[dict[str, AgentConnection]]:
    """Start agents; gives their connections, by the names of their nodes.

    All agents have ended when the block is left: an agent ends when its input does, or is killed.

    Args:
        run: the run folder, where their logs go.
        commands: the commands that start them, by the names of their nodes.
        grace: seconds between SIGTERM and SIGKILL of their processes.

    Raises:
        DispatchError: a command cannot be started.
    """
    running: list[subprocess.Popen[bytes]] = []
    connections: dict[str, AgentConnection] = {}
    with ExitStack() as stack:
        stack.callback(_await_ends, running, grace + _LEAVE)
        for node, words in commands.items():
            start = _size(run.node_log(node))
            popen = _start(run, node, words)
            running.append(popen)
            connections[node] = _connection(popen, run.node_log(node), start)
        yield connections


def _start(run: RunDir, node: str, words: Sequence[str]) -> "subprocess.Popen[bytes]":
    path = run.node_log(node)
    make_folder(path.parent)
    try:
        with path.open("ab") as log:
            return subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # the terminal's Ctrl-C is the coordinator's alone
            )
    except OSError as error:
        raise DispatchError(f"cannot start {words[0]}: {error.strerror}") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _connection(popen: "subprocess.Popen[bytes]", log: Path, start: int) -> AgentConnection:
    stdin, stdout = popen.stdin, popen.stdout
    assert stdin is not None
    assert stdout is not None

    def close() -> None:
        stdin.close()
        stdout.close()

    process = AgentProcess(popen, log, start)
    return Connection(stdout.fileno(), stdin.fileno(), FromAgent, close, process=process)


def _await_ends(running: Sequence["subprocess.Popen[bytes]"], patience: float) -> None:
    """Close the agents' pipes, wait for the agents to end, and kill those that do not."""
    for popen in running:
        for pipe in (popen.stdin, popen.stdout):
            if pipe is not None:
                pipe.close()
    deadline = time.monotonic() + patience
    for popen in running:
        try:
            popen.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()


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


@contextmanager
def agents(
    run: RunDir,
    plan: RunPlan,
    commands: Mapping[str, Sequence[str]],
    requests: StopRequests,
    observer: ProgressObserver,
) -> Iterator[Nodes]:
    """The nodes whose agents these commands start, by the names of the nodes."""
    with started_agents(run, commands, plan.grace) as connections:
        yield Membership(run, connections, requests.fd, Timeouts(), observer)


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
    def commands(self, context: RunContext) -> Mapping[str, Sequence[str]]:
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

    def commands(self, context: RunContext) -> Mapping[str, Sequence[str]]:
        """An agent for each part of this host."""
        nodes, profile = context.plan.nodes, context.plan.runner or RunnerProfile("local")
        commands = {}
        for rank in range(nodes):
            # All of 127.0.0.0/8 is loopback: each node gets its own address.
            options = AgentOptions(context.run.path, rank, f"127.0.0.{rank + 1}", parts=nodes)
            script = agent_script(options, profile.setup, profile.environment)
            commands[f"node{rank}"] = ["bash", "-c", script]
        return commands
