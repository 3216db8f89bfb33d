"""An agent in a process of its own, coordinated by the test over its standard input and output."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.codec import decode
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import agent_main
from milabench_ddp.dispatch.agent_main import AgentOptions
from milabench_ddp.dispatch.protocol import (
    EvidenceKept,
    FindPorts,
    Finish,
    FromAgent,
    Hello,
    KeepEvidence,
    LaunchEnded,
    Ping,
    Pong,
    Ports,
    Problem,
    Signalled,
    StopLaunch,
    Timeouts,
)
from milabench_ddp.dispatch.runners.agents import agent_command
from milabench_ddp.dispatch.slurm_queue import LIMIT
from milabench_ddp.errors import DispatchError
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.results.lock import held
from milabench_ddp.results.run_dir import RunDir
from tests.support.archives import archived
from tests.support.started_agent import DEAF, RATE, STAYS, StartedAgent, exists
from tests.support.wait import wait_for

Start = Callable[..., StartedAgent]
Asked = Callable[[str], tuple[dict[str, str], Path]]
SHORT = Timeouts(heartbeat=0.05, silence=0.2, reconnect=0.2)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts agents and waits for their ``Hello``."""
    made: list[StartedAgent] = []

    def make(*options: Any, **more: Any) -> StartedAgent:
        it = StartedAgent(tmp_path, *options, **more)
        made.append(it)
        hello = it.says(Hello)
        assert (hello.rank, hello.address) == (0, "127.0.0.1")
        assert (hello.node.name, len(hello.node.devices)) == ("node0", 1)
        return it

    yield make
    for each in made:
        each.close()


@pytest.fixture
def agent(start: Start) -> StartedAgent:
    return start()


def test_it_answers_and_runs_launches(agent: StartedAgent) -> None:
    agent.send(FindPorts("x", 3))
    answer = agent.says(Ports)
    assert (answer.launch, len(set(answer.ports))) == ("x", 3)
    agent.send(Ping("are you back?"))
    before = time.time()
    pong = agent.says(Pong)
    assert (pong.id, before - 5 < pong.clock < time.time() + 5) == ("are you back?", True)
    agent.start(RATE, "first")
    first = agent.says(LaunchEnded)
    assert '"rate": 1.0' in agent.run.data("b.D0.node0").read_text()
    agent.start(RATE + "sys.exit(3)", "second")
    second = agent.says(LaunchEnded)
    assert (first.id, first.state.outcome) == ("first", Outcome.OK)
    assert (second.id, second.state.outcome) == ("second", Outcome.FAILED)
    assert second.state.reason == "exit status 3"
    agent.send(
        StopLaunch("third", Verdict(Outcome.LOST, "its other nodes are gone"), hard=False)
    )  # before it begins
    agent.start(STAYS, "third")
    state = agent.says(LaunchEnded).state
    assert (state.outcome, state.reason) == (Outcome.LOST, "its other nodes are gone")
    agent.send(Finish())
    assert agent.code() == 0


def test_it_keeps_evidence_of_its_node(agent: StartedAgent) -> None:
    agent.send(KeepEvidence({"ticket.md": "a ticket", "output/x.stderr": "x" * 300_000}))
    assert agent.says(EvidenceKept) == EvidenceKept()
    kept = archived(agent.run.path, "node0")
    assert kept["ticket.md"] == "a ticket"
    assert "node0, at the end of the run" in kept["end/about.txt"]
    agent.send(Finish())
    assert agent.code() == 0


def test_what_a_program_prints_is_no_message(agent: StartedAgent) -> None:
    agent.start(RATE + "print('out'); print('err', file=sys.stderr)")
    assert agent.says(LaunchEnded).state.outcome is Outcome.OK
    agent.send(Finish())
    assert agent.code() == 0
    assert agent.stderr() == b""
    assert agent.run.stream("b.D0.node0", "stdout").read_text() == "out\n"


def test_stopped_in_the_midst_cleanly_and_then_hard(agent: StartedAgent) -> None:
    agent.start(STAYS)
    pid = agent.program()
    agent.send(StopLaunch("another", Verdict(Outcome.LOST, "not this one"), hard=False))
    agent.waits_for_heartbeats(1)  # it goes on
    assert exists(pid)
    agent.send(StopLaunch("1", Verdict(Outcome.LOST, "n1 is gone"), hard=False))
    state = agent.says(LaunchEnded).state
    assert (state.outcome, state.reason) == (Outcome.LOST, "n1 is gone")
    assert not exists(pid)
    agent.start(DEAF, "2")
    pid = agent.program()
    agent.send(StopLaunch("2", Verdict(Outcome.LOST, "you were told"), hard=True))
    assert agent.says(LaunchEnded).state.processes[0].returncode == -signal.SIGKILL
    assert not exists(pid)


def test_nothing_outlives_an_agent_that_is_killed(start: Start, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    agent = start(TMPDIR=str(temporary))
    agent.start(DEAF)
    pid = agent.program()
    assert len(list(temporary.iterdir())) == 1
    agent.popen.kill()
    wait_for(lambda: not exists(pid))
    wait_for(lambda: not list(temporary.iterdir()))


def test_an_agent_that_hangs_ends_with_its_coordinator_and_so_does_its_launch(
    start: Start, tmp_path: Path
) -> None:
    hangs = "import time; from milabench_ddp.launch.supervisor import Supervisor as S; "
    (tmp_path / "sitecustomize.py").write_text(hangs + "S._supervise = lambda _: time.sleep(1000)")
    environ = {"PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path / "b")}
    agent, pid = start(Timeouts(heartbeat=0.05, report=0.2), **environ), tmp_path / "pid"
    agent.start(f"import os; open({str(pid)!r}, 'w').write(f'{{os.getpid()}} '); {DEAF}")
    wait_for(lambda: pid.exists() and pid.read_text().endswith(" "))
    agent.leave()
    assert agent.code() == 1
    wait_for(lambda: not exists(int(pid.read_text())))
    wait_for(lambda: not list((tmp_path / "b").glob("milabench-*")))


def test_when_its_coordinator_is_gone_it_ends_what_it_runs(agent: StartedAgent) -> None:
    agent.start(DEAF)
    pid = agent.program()
    agent.leave()
    assert agent.code() == 1
    assert not exists(pid)
    assert agent.stderr() == b"node 0: it closed the connection\n"
    data = agent.run.data("b.D0.node0").read_text()
    assert "its coordinator is gone" in data  # its file has the reason


def test_when_its_coordinator_stays_silent_it_ends(start: Start) -> None:
    agent = start(SHORT)
    agent.start(DEAF)
    state = agent.says(LaunchEnded).state
    why = "it sent no heartbeat for 0.2 s"
    assert (state.outcome, state.reason) == (
        Outcome.LOST,
        f"its coordinator is gone: {why}",
    )
    assert agent.code() == 1
    assert agent.stderr() == f"node 0: {why}\n".encode()


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """Makes Slurm's commands for a job on some nodes: the environment, and the log of questions."""

    def make(nodes: str) -> tuple[dict[str, str], Path]:
        tools, log = tmp_path / "tools", tmp_path / "asked"
        tools.mkdir()
        log.touch()
        said = (
            f"case $* in *job*) echo BatchHost=n1 NodeList={nodes};; *names*) echo {nodes};; esac"
        )
        for name in ("scontrol", "scancel"):
            (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {log}\n{said}\n')
            (tools / name).chmod(0o755)
        return {"PATH": f"{tools}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}, log

    return make


@pytest.mark.parametrize(
    ("is_silent", "restarts", "does"),
    [(True, "0", "scontrol requeue 7\n"), (True, "3", "scancel 7\n"), (False, "0", "")],
)
def test_in_a_job_that_has_no_coordinator_left_it_asks_slurm(
    start: Start, asked: Asked, is_silent: bool, restarts: str, does: str
) -> None:
    """A coordinator that has ended has asked Slurm itself; a silent one may have lost power."""
    environ, log = asked("n1")
    agent = start(SHORT, job="all", SLURM_RESTART_COUNT=restarts, **environ)
    if not is_silent:
        agent.leave()
    assert agent.code() == 1
    assert log.read_text() == does


@pytest.mark.parametrize("ends", ["finish", "leave"])
@pytest.mark.parametrize("nodes", ["n1", "n2"])
def test_a_coordinator_that_is_back_may_not_be_of_the_job_any_more(
    start: Start, asked: Asked, ends: str, nodes: str
) -> None:
    """Slurm has taken its node, which did not answer, out of the job: nobody else ends the job."""
    environ, log = asked(nodes)
    agent = start(replace(SHORT, reconnect=600), job="all", **environ)
    agent.waits_for_heartbeats(10)  # it hears nothing for longer than the silence
    if ends == "finish":
        agent.send(Finish())
    else:
        agent.leave()
    agent.code()
    assert ("requeue" in log.read_text()) == (nodes == "n2")


def test_sigterm_ends_the_launch_and_the_agent(agent: StartedAgent) -> None:
    agent.start(STAYS)
    pid = agent.program()
    agent.popen.send_signal(signal.SIGTERM)
    assert agent.says(Signalled) == Signalled()  # before the end that it causes
    state = agent.says(LaunchEnded).state
    assert (state.outcome, state.reason) == (Outcome.CANCELLED, "stopped on request")
    assert agent.code() == 0
    assert not exists(pid)


def test_sigterm_with_nothing_to_do(agent: StartedAgent) -> None:
    agent.popen.send_signal(signal.SIGTERM)
    assert agent.says(Signalled) == Signalled()
    assert agent.code() == 0


def test_the_warning_of_a_time_limit_is_the_coordinators_matter(agent: StartedAgent) -> None:
    agent.start(STAYS)
    pid = agent.program()
    agent.popen.send_signal(signal.SIGUSR2)
    assert agent.says(Signalled) == Signalled()
    assert exists(pid)
    agent.send(StopLaunch("1", LIMIT, hard=False))
    state = agent.says(LaunchEnded).state
    assert state.verdict == LIMIT


def test_a_full_disk_is_a_failure_of_the_launch(agent: StartedAgent) -> None:
    (agent.run.path / "b.D0.node0.data").mkdir()  # in the way
    agent.start(RATE)
    state = agent.says(LaunchEnded).state
    assert state.outcome is Outcome.FAILED
    assert state.reason.startswith(f"cannot write {agent.run.path}/b.D0.node0.data: ")
    agent.send(Ping("x"))
    assert agent.says(Pong).id == "x"  # it serves on


def test_no_plan_is_told_to_the_coordinator(tmp_path: Path) -> None:
    words = agent_command(AgentOptions(tmp_path, 3), RunnerProfile("local"))
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    message: FromAgent = decode(done.stdout, FromAgent)  # type: ignore[arg-type]
    assert isinstance(message, Problem)
    assert message.text == (
        f"{tmp_path}/plan.json is not there: all nodes must see the run folder; "
        f"choose such a place with --base"
    )
    assert done.stderr.decode() == f"node 3: {message.text}\n"


def test_it_waits_until_the_agent_of_an_earlier_coordinator_has_ended(tmp_path: Path) -> None:
    """That one may still end what it runs on the same devices."""
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    with held(run.node_lock("node0")):
        it = StartedAgent(tmp_path)
        it.waits_for_heartbeats(2)
    hello = it.says(Hello)
    assert hello.node.name == "node0"
    it.close()


def test_one_that_does_not_end_is_named(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    timeouts = Timeouts(silence=0.0, reconnect=0.0, report=0.0)
    options = AgentOptions(tmp_path, 0, job="all", timeouts=timeouts)
    me = f"process {os.getpid()} on {os.uname().nodename}, since 20"
    with (
        held(run.node_lock("n0", "all")),
        pytest.raises(DispatchError, match=rf"another agent .* has not ended \({me}"),
        agent_main._alone(run, "n0", options, 0.0),
    ):
        pass
    with held(run.node_lock("n0", "other")), agent_main._alone(run, "n0", options, 0.0):
        pass  # another job of the run has the same node
