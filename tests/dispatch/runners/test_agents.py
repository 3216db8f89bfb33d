"""Agents as child processes: how they start, fail to start, and end."""

import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from milabench_ddp.codec import decode
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.membership import AgentConnection
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, Pong, Problem, Timeouts
from milabench_ddp.dispatch.runners import agents
from milabench_ddp.dispatch.runners.agents import AgentCommand, StartedAgents, agent_command
from milabench_ddp.errors import DispatchError, RunDirError
from milabench_ddp.hidden import SECRETS
from milabench_ddp.results.run_dir import RunDir
from tests.support.wait import wait_for


def test_the_command_of_an_agent() -> None:
    options = AgentOptions(Path("/runs/mine"), 2, "10.0.0.3", "n2", timeouts=Timeouts(silence=3.0))
    python, *module, words = agent_command(options, RunnerProfile("local"))
    assert [python, *module] == [sys.executable, "-m", "milabench_ddp.dispatch.agent_main"]
    assert decode(words, AgentOptions) == options


def python(text: str) -> AgentCommand:
    return AgentCommand(("sh", "-c"), f"exec {shlex.join([sys.executable, '-c', text])}")


@contextmanager
def started_agents(
    run: RunDir, commands: Mapping[str, AgentCommand], grace: float
) -> Iterator[dict[str, AgentConnection]]:
    with StartedAgents(run, grace) as started:
        yield started.start(commands)


def rest_of(connection: AgentConnection) -> list[FromAgent]:
    """All messages until the agents of its stream end; a line may arrive in pieces."""
    found: list[FromAgent] = []
    while (messages := connection.receive()) is not None:
        found += messages
    return found


def test_they_talk_and_leave_a_log(tmp_path: Path) -> None:
    echo = """
import sys
print("Welcome to host1!", flush=True)
print("hello", file=sys.stderr)
sys.stdin.readline()
print('{"type":"Problem","text":"the same"}')
"""
    run = RunDir(tmp_path)
    with started_agents(run, {"n0": python(echo), "n1": python(echo)}, 5.0) as connections:
        for connection in connections.values():
            assert connection.receive() == []  # of a login shell
            assert connection.send(Heartbeat())
            assert rest_of(connection) == [Problem("the same")]
    assert [run.node_log(name).read_text() for name in ("n0", "n1")] == ["hello\n"] * 2


def test_what_setup_prints_is_kept_without_secrets(tmp_path: Path) -> None:
    SECRETS.learn_environ({"SITE_PASSWORD": "hunter2-site"})
    key = "ghp_" + "0aB" * 12
    says = f"import os; os.write(2, b'with hunter2-site \\xff\\r\\nand {key}\\n')"
    for _ in range(2):
        with started_agents(RunDir(tmp_path), {"n0": python(says)}, 5.0):
            pass
    shown = "with (hidden: SITE_PASSWORD) \\xff\nand (hidden)\n"
    assert RunDir(tmp_path).node_log("n0").read_text() == shown * 2


def test_no_secret_is_in_the_log_while_setup_runs(tmp_path: Path) -> None:
    SECRETS.learn_environ({"SITE_PASSWORD": "hunter2-site"})
    says = "import os, sys; os.write(2, b'with hunter2-site\\n'); print(); sys.stdin.read()"
    with started_agents(RunDir(tmp_path), {"n0": python(says)}, 5.0) as connections:
        assert connections["n0"].receive() == []  # it has printed both
        log = RunDir(tmp_path).node_log("n0")
        wait_for(lambda: log.exists() and log.read_text() != "")
        assert log.read_text() == "with (hidden: SITE_PASSWORD)\n"


def test_what_one_prints_last_is_why_it_ended(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    command = AgentCommand(("sh", "-c"), "echo 'no such module' >&2; exit 3")
    with started_agents(run, {"n0": command}, 5.0) as connections:
        process = connections["n0"].process
        assert process is not None
        assert process.exit_status(600.0) == 3
        why = process.why_ended()
    said = "its agent ended with exit status 3: no such module"
    assert why == f"{said} (see {run.node_log('n0')})"


def test_a_process_that_setup_left_behind_cannot_hold_them_up(tmp_path: Path) -> None:
    flood = "while :; do echo flood; done"
    command = AgentCommand(("sh", "-c"), f"(trap '' TERM; {flood}) >&2 &")
    with started_agents(RunDir(tmp_path), {"n0": command}, 5.0) as connections:
        assert connections["n0"].receive() in ([], None)
    text = RunDir(tmp_path).node_log("n0").read_text()
    assert "flood\n".startswith(text.replace("flood\n", ""))


def test_what_is_in_the_place_of_a_log_is_named(tmp_path: Path) -> None:
    log = RunDir(tmp_path).node_log("n0")
    log.mkdir(parents=True)
    with (
        pytest.raises(RunDirError, match=rf"cannot write {log}: Is a directory"),
        started_agents(RunDir(tmp_path), {"n0": python("")}, 5.0),
    ):
        pass


def test_logs_of_a_resumed_run_go_on(tmp_path: Path) -> None:
    says = "import sys; print('once', file=sys.stderr)"
    for _ in range(2):
        with started_agents(RunDir(tmp_path), {"n0": python(says)}, 5.0):
            pass
    assert RunDir(tmp_path).node_log("n0").read_text() == "once\n" * 2


def test_a_ctrl_c_at_the_terminal_is_not_for_them(tmp_path: Path) -> None:
    leads = 'import os; print(\'{"type":"Pong","id":"%d"}\' % (os.getsid(0) == os.getpid()))'
    with started_agents(RunDir(tmp_path), {"n0": python(leads)}, 5.0) as connections:
        assert rest_of(connections["n0"]) == [Pong("1")]


def test_one_that_waits_for_its_coordinator_sees_the_end(tmp_path: Path) -> None:
    waits = f"import sys; sys.stdin.read(); open({str(tmp_path / 'left')!r}, 'w')"
    with started_agents(RunDir(tmp_path), {"n0": python(waits), "n1": python(waits)}, 5.0):
        assert not (tmp_path / "left").exists()
    assert (tmp_path / "left").exists()


def lose(connections: Mapping[str, AgentConnection], *nodes: str) -> None:
    for node in nodes:
        process = connections[node].process
        assert process is not None
        process.is_lost = True


@pytest.mark.parametrize("lost", [{"n0"}, {"n1"}, {"n0", "n1"}])
def test_a_step_with_a_lost_node_is_killed_once_the_others_have_ended(
    tmp_path: Path, lost: set[str]
) -> None:
    """As srun, which waits for a node that is cut off until Slurm gives it up."""
    ends = []
    for task, node in enumerate(("n0", "n1")):
        word = f'{task}: {{"type":"AgentEnded","status":0}}'
        ends += [f"touch {tmp_path}/{node}; echo '{word}' >&2"] * (node not in lost)
    text = "; ".join(["cat > /dev/null", *ends, "exec sleep 600"])
    step = AgentCommand(("bash", "-c"), text, ("n0", "n1"))
    with StartedAgents(RunDir(tmp_path), 600.0) as started:
        lose(started.start({"n0": step, "n1": step}), *lost)
    assert {path.name for path in tmp_path.glob("n?")} == {"n0", "n1"} - lost


def test_the_agent_of_a_lost_node_is_not_waited_for(tmp_path: Path) -> None:
    with StartedAgents(RunDir(tmp_path), 600.0) as started:
        lose(started.start({"n0": AgentCommand(("sh", "-c"), "exec sleep 600")}), "n0")


@pytest.mark.parametrize("module", ["agent_main", "runners.slurm_job"])
def test_its_start_loads_nothing_that_it_does_not_need(module: str) -> None:
    code = f"""
import sys, milabench_ddp.dispatch.{module}
print({{"numpy", "omegaconf", "polars", "rich", "yaml"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_one_that_does_not_leave_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "_LEAVE", 0.1)
    with started_agents(RunDir(tmp_path), {"n0": python("import time; time.sleep(600)")}, 0.1):
        pass


def test_one_that_cannot_be_started(tmp_path: Path) -> None:
    left = f"import sys; sys.stdin.read(); open({str(tmp_path / 'left')!r}, 'w')"
    commands = {"n0": python(left), "n1": AgentCommand(("/nowhere/ssh", "host"), "")}
    with (
        pytest.raises(DispatchError, match=r"cannot start /nowhere/ssh: No such file"),
        started_agents(RunDir(tmp_path), commands, 5.0),
    ):
        pass
    assert (tmp_path / "left").exists()  # the others have ended with it
