"""Starts agents as child processes, each behind two pipes, and ends them."""

import os
import shlex
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import Self

from msgspec import Struct

from ...codec import encode
from ...config.runner_profile import RunnerProfile
from ...errors import DispatchError
from ...hidden import GIVEN, SECRETS
from ...launch.stop_requests import StopRequests
from ...progress import ProgressObserver
from ...results.run_dir import RunDir
from ...visible import in_line
from ..agent_main import AgentOptions
from ..agent_process import SETUP_FAILED, AgentLog, AgentLogs, AgentProcess
from ..membership import AgentConnection, Membership
from ..nodes import Nodes
from ..protocol import FromAgent, Timeouts
from ..run_context import RunContext
from ..transport import Connection, Stream
from .attached import AttachedRunner

_LEAVE = 10.0  # seconds after the grace for an agent to end
_TELL = r"""said() { echo "{\"type\":\"AgentEnded\",\"status\":$1}"; }
trap 'code=$?; said $code; said $code >&2' EXIT; trap : TERM USR1 USR2"""
_END = 1.0  # seconds to read what the agents printed, once they have ended; for srun to end, too


class AgentCommand(Struct, frozen=True):
    """The command that starts an agent, or those of a job step of Slurm.

    All can see its command line, which has no script.
    """

    shell: tuple[str, ...]  # runs its next word, as ``sh -c`` or ``ssh host --`` does
    script: str
    # The nodes of a step: its lines have labels, and a shell tells how each agent has ended.
    step: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        size = len(os.fsencode(self.script))
        return [*self.shell, f'eval "$(dd bs=1 count={size} 2>/dev/null)"']


def agent_command(options: AgentOptions, profile: RunnerProfile) -> list[str]:
    start = [profile.python or sys.executable, "-m", "milabench_ddp.dispatch.agent_main"]
    return [*profile.command_prefix, *start, encode(options).decode()]


def agent_script(options: AgentOptions, profile: RunnerProfile) -> str:
    """A shell script that prepares a node, and then becomes its agent, with the plan's secrets."""
    lines = setup_lines(profile.setup, profile.environment)
    if secrets := SECRETS.given:
        lines.append(f"export {GIVEN}={shlex.quote(secrets)}")
    agent = shlex.join(agent_command(options, profile))
    if options.hosts:
        # The shell outlives the signals of Slurm, and its own word for the end is not the agent's.
        return "\n".join([_TELL, *lines, f"{{ {agent} 2>&3 3>&-; }} 3>&2 2>/dev/null"])
    return "\n".join([*lines, f"exec {agent}"])


def setup_lines(
    setup: Sequence[str],
    environment: Mapping[str, str],
    quoted: Callable[[str], str] = shlex.quote,
) -> list[str]:
    """The lines of a shell script for the ``setup`` and the ``environment`` of a runner profile.

    ``quoted`` makes a word of that shell of any text. A command of ``setup`` may have a comment,
    and may change the shell, as ``module load`` does; one that fails ends the script, and is named.
    """
    lines = []
    for command in setup:
        said = shlex.quote(in_line(f"{SETUP_FAILED}{SECRETS.learn(command)}"))
        # Standard input and output are the agent's connection, or the rest of the script.
        run = f"eval {quoted(command)} </dev/null >&2"
        lines.append(f"{run} || {{ code=$?; echo {said} >&2; exit $code; }}")
    lines += [f"export {name}={quoted(value)}" for name, value in environment.items()]
    return lines


class StartedAgents:
    """Agents that were started; all end with the block: when their input ends, or by SIGKILL."""

    def __init__(self, run: RunDir, grace: float) -> None:
        self._run, self._grace = run, grace
        self._running: list[tuple[subprocess.Popen[bytes], list[AgentProcess]]] = []
        self._logs = AgentLogs()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._await_ends()
        self._logs.close(_END)

    def start(self, commands: Mapping[str, AgentCommand]) -> dict[str, AgentConnection]:
        """Start agents; gives their connections, by the names of their nodes.

        Args:
            commands: by the names of their nodes; that of a step stands at each of its nodes.
        """
        connections: dict[str, AgentConnection] = {}
        starts = {command.step or (node,): command for node, command in commands.items()}
        for nodes, command in starts.items():
            connections |= self._start(command, nodes)
        return connections

    def _start(self, command: AgentCommand, nodes: Sequence[str]) -> dict[str, AgentConnection]:
        words = command.words
        labels = range(len(nodes)) if command.step else [None]
        logs = {}
        for label, node in zip(labels, nodes, strict=True):
            logs[label] = AgentLog(self._run.node_log(node))
        read, write = os.pipe()
        self._logs.add(read, logs)
        try:
            popen = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=write,
                start_new_session=True,  # the terminal's Ctrl-C is the coordinator's alone
            )
        except OSError as error:
            raise DispatchError(f"cannot start {words[0]}: {error.strerror}") from error
        finally:
            os.close(write)
        stdin, stdout = popen.stdin, popen.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):  # it has ended: its log says why
            stdin.write(os.fsencode(command.script))
            stdin.flush()

        def close() -> None:
            stdin.close()
            stdout.close()

        stream = Stream(stdout.fileno(), stdin.fileno(), close)
        connections, processes = {}, list[AgentProcess]()
        self._running.append((popen, processes))
        for (label, log), node in zip(logs.items(), nodes, strict=True):
            process = AgentProcess(popen, log, command.step)
            connections[node] = Connection[FromAgent](stream, FromAgent, label, process)
            processes.append(process)
        return connections

    def _await_ends(self) -> None:
        """Of a lost node, an agent may never end, nor then ssh or srun: they are not waited for."""
        for popen, _ in self._running:
            for pipe in (popen.stdin, popen.stdout):
                if pipe is not None:
                    pipe.close()
        deadline = time.monotonic() + self._grace + _LEAVE
        for process in chain.from_iterable(processes for _, processes in self._running):
            process.await_end(deadline)
        soon = min(time.monotonic() + _END, deadline)
        for popen, processes in self._running:
            until = soon if any(process.is_lost for process in processes) else deadline
            try:
                popen.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                popen.kill()
                popen.wait()


@contextmanager
def agents(
    context: RunContext,
    commands: Mapping[str, AgentCommand],
    requests: StopRequests,
    observer: ProgressObserver,
    again: Callable[[str], AgentCommand] | None = None,
) -> Iterator[Nodes]:
    """Start agents; ``again`` makes the command that starts that of a lost node once more."""
    with StartedAgents(context.run, context.plan.grace) as started:

        def start(node: str) -> AgentConnection:
            assert again is not None
            return started.start({node: again(node)})[node]

        yield Membership(
            context.run, started.start(commands), requests.fd, Timeouts(), observer,
            again=start if again else None, spare=context.plan.spare,
        )  # fmt: skip


class AgentRunner(AttachedRunner):
    """Base of the runners that start an agent for each node."""

    @abstractmethod
    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        """The commands that start the agents, by the names of their nodes."""

    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        return agents(context, self.commands(context), requests, observer)
