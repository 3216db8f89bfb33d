"""Starts agents as child processes, each behind two pipes, and ends them."""

import os
import shlex
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ...codec import encode
from ...config.runner_profile import RunnerProfile
from ...config.shipped import package_folders
from ...errors import DispatchError
from ...hidden import GIVEN, SECRETS
from ...launch.stop_requests import StopRequests
from ...progress import ProgressObserver
from ...results.run_dir import RunDir
from ...visible import in_line
from ..agent_main import AgentOptions
from ..agent_process import AgentLog, AgentLogs, AgentProcess
from ..membership import AgentConnection, Membership
from ..nodes import Nodes
from ..protocol import FromAgent, Timeouts
from ..run_context import RunContext, RunPlan
from ..transport import Connection
from .attached import AttachedRunner

_LEAVE = 10.0  # seconds after the grace for an agent to end
_END = 1.0  # seconds in which what the agents printed is read, once they have ended


class AgentCommand(Struct, frozen=True):
    """The command that starts an agent; all can see its command line, which has no script."""

    shell: tuple[str, ...]  # runs its next word, as ``sh -c`` or ``ssh host --`` does
    script: str

    @property
    def words(self) -> list[str]:
        size = len(os.fsencode(self.script))
        return [*self.shell, f'eval "$(dd bs=1 count={size} 2>/dev/null)"']


# What another interpreter runs: an image may lack the package, or have another version of it.
_IMPORTED = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)
_AGENT = "milabench_ddp.dispatch.agent_main"
_FOUND = 'command -v "$0" >/dev/null || {{ echo {} >&2; exit 127; }}; exec "$0" "$@"'


def agent_command(options: AgentOptions, profile: RunnerProfile) -> list[str]:
    """The command of an agent on its node, behind the prefix of the profile."""
    words = encode(options).decode()
    if profile.python is None:
        return [*profile.command_prefix, sys.executable, "-m", _AGENT, words]
    where = f" in {profile.container.image}" if profile.container else ""
    said = f"there is no {profile.python}{where}: `python` of the runner profile names one"
    package, shipped = package_folders()
    start = ["-m", _AGENT]
    if shipped == package.parent:  # a checkout
        start = ["-c", _IMPORTED.format(_AGENT), str(shipped)]
    found = ("sh", "-c", _FOUND.format(shlex.quote(said)))
    return [*profile.command_prefix, *found, profile.python, *start, words]


def agent_script(options: AgentOptions, profile: RunnerProfile) -> str:
    """A shell script that prepares a node, and then becomes its agent, with the plan's secrets."""
    lines = setup_lines(profile.setup, profile.environment)
    if secrets := SECRETS.given:
        lines.append(f"export {GIVEN}={shlex.quote(secrets)}")
    return "\n".join([*lines, f"exec {shlex.join(agent_command(options, profile))}"])


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
        said = shlex.quote(in_line(f"the setup command failed: {SECRETS.learn(command)}"))
        # Standard input and output are the agent's connection, or the rest of the script.
        run = f"eval {quoted(command)} </dev/null >&2"
        lines.append(f"{run} || {{ code=$?; echo {said} >&2; exit $code; }}")
    lines += [f"export {name}={quoted(value)}" for name, value in environment.items()]
    return lines


@contextmanager
def started_agents(
    run: RunDir, commands: Mapping[str, AgentCommand], grace: float
) -> Iterator[dict[str, AgentConnection]]:
    """Start agents; gives their connections, by the names of their nodes.

    All agents have ended when the block is left: an agent ends when its input does, or is killed.
    """
    running: list[subprocess.Popen[bytes]] = []
    connections: dict[str, AgentConnection] = {}
    with ExitStack() as stack:
        logs = AgentLogs()
        stack.callback(logs.close, _END)
        stack.callback(_await_ends, running, grace + _LEAVE)
        for node, command in commands.items():
            popen, connections[node] = _start(run.node_log(node), command, logs)
            running.append(popen)
        yield connections


def _start(
    path: Path, command: AgentCommand, logs: AgentLogs
) -> tuple["subprocess.Popen[bytes]", AgentConnection]:
    words, log = command.words, AgentLog(path)
    try:
        read, write = os.pipe()
        logs.add(read, log)
        try:
            popen = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=write,
                start_new_session=True,  # the terminal's Ctrl-C is the coordinator's alone
            )
        finally:
            os.close(write)
    except OSError as error:
        raise DispatchError(f"cannot start {words[0]}: {error.strerror}") from error
    stdin, stdout = popen.stdin, popen.stdout
    assert stdin is not None
    assert stdout is not None
    with suppress(BrokenPipeError):  # it has ended: its log says why
        stdin.write(os.fsencode(command.script))
        stdin.flush()

    def close() -> None:
        stdin.close()
        stdout.close()

    process = AgentProcess(popen, log.path, log.start, log.is_whole)
    ends = stdout.fileno(), stdin.fileno()
    return popen, Connection(*ends, FromAgent, close, process=process)


def _await_ends(running: Sequence["subprocess.Popen[bytes]"], patience: float) -> None:
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
def agents(
    run: RunDir,
    plan: RunPlan,
    commands: Mapping[str, AgentCommand],
    requests: StopRequests,
    observer: ProgressObserver,
) -> Iterator[Nodes]:
    with started_agents(run, commands, plan.grace) as connections:
        yield Membership(run, connections, requests.fd, Timeouts(), observer)


class AgentRunner(AttachedRunner):
    """Base of the runners that start an agent for each node."""

    @abstractmethod
    def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
        """The commands that start the agents, by the names of their nodes."""

    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        return agents(context.run, context.plan, self.commands(context), requests, observer)
