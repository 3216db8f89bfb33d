"""A fault on the first, a middle or the last node: one verdict, in every place that shows it."""

import time

import pytest

from .sweeps import Sweep, ended

pytestmark = pytest.mark.slurm

# Whichever node it is: the first one, which has the coordinator, and the last are marked slow
FIRST, LAST = (pytest.param(node, marks=pytest.mark.slow) for node in ("node1", "node3"))
NODES = [FIRST, "node2", LAST]
AGENT = "^[^ ]*python[^ ]* -m milabench_ddp.dispatch.agent"
PROGRAM = "python[^ ]* .*program.py held held-3"


@pytest.fixture
def held(cluster, make_sweep, tmp_path):
    """A sweep whose only benchmark runs on three nodes until it is let go."""
    sweep = make_sweep(tmp_path, {"held": [3]}, options="{nodelist: 'node[1-3]'}")
    sweep.command = sweep.begin()
    sweep.await_states(held_3="running")
    sweep.await_starts("held-3", 3)
    return sweep


def kill(cluster, node, pattern):
    """SIGKILL the processes of a node whose command line matches."""
    cluster.exec(node, "pkill", "-KILL", "-f", pattern)


def assert_told(sweep: Sweep, status: str, reason: str) -> None:
    """The state, the table and the report say the same; nobody has cancelled anything."""
    code, out, err = ended(sweep.command)
    assert code == 1, err
    (own,) = sweep.benchmarks().values()
    assert str(own.status) == status
    assert own.reason.startswith(reason)
    table = sweep.table()
    assert f"{status} [1]" in table
    assert f"[1] {reason}" in table
    assert "cancelled" not in out + table


@pytest.mark.parametrize("node", NODES)
def test_a_program_is_killed(held, cluster, node):
    kill(cluster, node, PROGRAM)
    held.open()
    assert_told(held, "failed", f"{node}: killed by SIGKILL")


@pytest.mark.parametrize("node", NODES)
def test_an_agent_is_killed(held, cluster, node):
    kill(cluster, node, AGENT)
    assert_told(held, "lost", f"{node} has lost its agent: killed by SIGKILL")


@pytest.mark.parametrize("node", [FIRST, "node3"])
def test_the_step_of_an_agent_is_killed(held, cluster, node):
    (job,) = held.jobs()
    kill(cluster, node, rf"^slurmstepd: \[{job}\.[0-9]")
    assert_told(held, "lost", f"{node} has sent no heartbeat for 20 s")


def test_the_step_of_the_coordinator_is_killed(held, cluster):
    """Slurm takes the job for running: its nodes are free again as soon as it has ended."""
    (job,) = held.jobs()
    kill(cluster, "node1", rf"^slurmstepd: \[{job}\.batch")
    held.open()
    code, _, err = ended(held.command)
    assert code == 0, err
    assert held.states() == {"held-3": "ok"}
    cluster.wait("no job", 60, lambda: not cluster.run("squeue", "-h"))


@pytest.mark.parametrize("node", ["node2", LAST])
def test_a_cable_is_pulled(held, networked, node):
    with networked.slurmd_timeout(120):
        networked.cut(node)
        held.await_states(held_3="lost")
        networked.heal(node)
        assert_told(held, "lost", f"{node} has sent no heartbeat for 20 s")


def test_a_suspended_job_goes_on_where_it_was(cluster, make_sweep, tmp_path):
    """Longer than silence is a loss, and longer than its programs may take."""
    sweep = make_sweep(tmp_path, {"held": [3]}, options="{nodelist: 'node[1-3]'}", signal_delay=0)
    sweep.config.write_text(
        sweep.config.read_text().replace("max_duration: 300", "max_duration: 25")
    )
    command = sweep.begin()
    sweep.await_states(held_3="running")
    sweep.await_starts("held-3", 3)
    (job,) = sweep.jobs()
    cluster.run("scontrol", "suspend", job)
    time.sleep(30)
    cluster.run("scontrol", "resume", job)
    sweep.open()
    code, _, err = ended(command)
    assert code == 0, err
    assert sweep.states() == {"held-3": "ok"}
    assert sweep.starts() == {"held-3": 3}


@pytest.mark.slow
def test_a_program_hangs(cluster, make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, {"hangs": [3]})
    sweep.command = sweep.begin()
    (name,) = ("hangs-3",)
    code, _, err = ended(sweep.command)
    assert code == 1, err
    assert sweep.states() == {name: "timeout"}
    assert "timeout [1]" in sweep.table()


def test_of_two_that_resume_at_once_one_submits(cluster, make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, {"held": [2, 1]}, options="{nodelist: 'node[1-2]'}")
    ended(sweep.begin("--detach"))
    sweep.await_states(held_2="running")
    sweep.await_starts("held-2", 2)
    ended(sweep.milabench("cancel", sweep.run))
    sweep.open()
    commands = [sweep.milabench("run", "--resume", sweep.run) for _ in range(3)]
    codes = [ended(command) for command in commands]
    assert sorted(code for code, _, _ in codes) == [0, 2, 2], codes
    assert all("has not ended" in err for code, _, err in codes if code == 2)
    assert len(sweep.jobs()) == 2
    assert sweep.starts() == {"held-2": 4, "held-1": 1}
    assert set(sweep.states().values()) == {"ok"}
    # The run has ended when its last benchmark has; Slurm takes a moment more to end the job
    cluster.wait("no job", 60, lambda: not cluster.run("squeue", "-h"))
