"""Agents and nodes that are lost, whichever: the others go on, and what can is used again."""

import os
import time

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm

NODES = tuple(f"node{number}" for number in range(1, 6))  # the coordinator is on the first one
# All faults of all nodes take an hour: pytest -n 0 -m "slurm and slow" tests/slurm
ALL = [pytest.param(node, marks=[pytest.mark.slow] * (node != "node3")) for node in NODES]
AGENT = "^[^ ]*python[^ ]* -m milabench_ddp.dispatch.agent"
KEEPER = "keeper_main"
SIZES = {"held": [5], "quick": [5, 1]}
SILENT = "{node} has sent no heartbeat for 20 s"


@pytest.fixture
def sweep(networked, make_sweep, tmp_path):
    """Held on five nodes, then a benchmark on all of them and one on any."""
    return begun(make_sweep(tmp_path, SIZES))


def begun(sweep):
    sweep.command = sweep.begin()
    sweep.await_states(held_5="running")
    sweep.await_starts("held-5", 5)
    sweep.began = time.monotonic()
    return sweep


def signal(cluster, node, name, pattern):
    cluster.exec(node, "pkill", f"-{name}", "-f", pattern)


def assert_ends(sweep, reason, states, *, within, code=1, nodes=NODES):
    """How the sweep ends, and when; that its reasons name the node, and that nothing is left."""
    found, out, err = ended(sweep.command, 300)
    took = time.monotonic() - sweep.began
    sweep.cluster.wait("no job", 200, lambda: not sweep.cluster.run("squeue", "-h"))
    with open(os.environ.get("MILABENCH_FAULTS", os.devnull), "a") as table:
        left = []
        for node in nodes:
            try:
                ps = sweep.cluster.exec(node, "ps", "-eo", "args", "ww")
            except AssertionError:
                continue  # it is off
            left += [line for line in ps.splitlines() if str(sweep.folder) in line]
        test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
        print(f"{test} | {took:.0f} s | {sweep.states()} | {sweep.reason(next(iter(states)))} | "
              f"left {left} | exit {found}", file=table)  # fmt: skip
    assert found == code, err
    assert sweep.states() == states, out + err
    assert sweep.reason(next(iter(states))).startswith(reason)
    assert took < within
    assert not left
    return out + err


OK = {"held-5": "ok", "quick-5": "ok", "quick-1": "ok"}
USED_AGAIN = {"held-5": "lost", "quick-5": "ok", "quick-1": "ok"}
LEFT_OUT = {"held-5": "lost", "quick-5": "lost", "quick-1": "ok"}


@pytest.mark.parametrize("node", ["node1", *ALL[1:]])
def test_an_agent_that_is_killed_gets_a_step_of_its_own(sweep, node):
    signal(sweep.cluster, node, "KILL", AGENT)
    said = assert_ends(
        sweep, f"{node} has lost its agent: killed by SIGKILL", USED_AGAIN, within=60
    )
    assert f"{node} is back" in said


@pytest.mark.parametrize("node", ALL)
def test_an_agent_that_is_stopped_is_replaced(sweep, node):
    signal(sweep.cluster, node, "STOP", AGENT)
    said = assert_ends(sweep, SILENT.format(node=node), USED_AGAIN, within=100)
    assert f"{node} is back" in said


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES[1:])
@pytest.mark.parametrize("timeout", [5, 120])
def test_a_node_without_power_leaves_the_others(sweep, node, timeout):
    with sweep.cluster.slurmd_timeout(timeout):
        sweep.cluster.crash(node)
        assert_ends(sweep, node, LEFT_OUT, within=150)


@pytest.mark.parametrize("node", ALL[1:])
def test_a_node_that_starts_anew_before_slurm_has_missed_it(sweep, node):
    """Slurm ends the whole step: each of its nodes gets another."""
    with sweep.cluster.slurmd_timeout(120):
        sweep.cluster.crash(node)
        sweep.cluster.boot(node)
        said = assert_ends(sweep, "node1 has lost its agent: ", USED_AGAIN, within=150)
    assert f"Slurm has ended its step, because of {node}\n" in said
    assert " is back\n" in said


@pytest.mark.parametrize("node", ALL[1:])
def test_a_cut_that_heals_loses_nothing(sweep, node):
    with sweep.cluster.slurmd_timeout(120):
        sweep.cluster.cut(node)
        time.sleep(6)  # what is sent again after 12.6 s arrives, and so before 20 s of silence
        sweep.cluster.heal(node)
        sweep.open()
        assert_ends(sweep, "", OK, within=90, code=0)


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES[1:])
def test_a_cut_that_does_not_heal(sweep, node):
    with sweep.cluster.slurmd_timeout(120):
        sweep.cluster.cut(node)
        # 20 s of silence, and 60 s for the node to come back. Slurm has not given it up then.
        others = set(NODES) - {node}
        assert_ends(sweep, SILENT.format(node=node), LEFT_OUT, within=110, nodes=others)


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES[1:])
def test_a_node_that_slurm_takes_for_down(sweep, node):
    sweep.cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    assert_ends(sweep, node, LEFT_OUT, within=150)


@pytest.mark.parametrize("node", ALL)
def test_a_keeper_that_is_killed_fails_its_program(sweep, node):
    signal(sweep.cluster, node, "KILL", KEEPER)
    sweep.open()
    found = {**USED_AGAIN, "held-5": "failed"}
    assert_ends(sweep, f"{node}: ", found, within=60)


@pytest.mark.parametrize("node", ALL)
def test_a_keeper_that_is_stopped_goes_on(sweep, node):
    signal(sweep.cluster, node, "STOP", KEEPER)
    sweep.open()
    assert_ends(sweep, "", OK, within=60, code=0)


@pytest.mark.slow
def test_the_first_node_is_cut_off(networked, make_sweep, tmp_path):
    """The job starts again without it, and it is named although all has passed."""
    sweep = make_sweep(tmp_path, {"held": [3], "quick": [3, 1]})
    sweep.command = sweep.begin()
    sweep.await_starts("held-3", 3)
    sweep.began = time.monotonic()
    networked.cut("node1")
    sweep.await_starts("held-3", 6, timeout=250)
    sweep.open()
    states = dict.fromkeys(["held-3", "quick-3", "quick-1"], "ok")
    said = assert_ends(sweep, "", states, within=300, code=0)
    # Here the folder is not cut off, so its coordinator goes on for a while.
    assert "has sent no heartbeat for 20 s, nor has any node but node1: the network of" in said


@pytest.mark.slow
def test_the_coordinator_is_killed(sweep):
    signal(sweep.cluster, "node1", "KILL", f"_submit {sweep.run}")
    lost = {"held-5": "lost", "quick-5": "not begun", "quick-1": "not begun"}
    assert_ends(sweep, "its job ended: FAILED, exit status 137 on node1", lost, within=60)


@pytest.mark.slow
def test_the_coordinator_is_stopped(sweep):
    """Its agents end what they run, and after 80 s let Slurm start the job again."""
    signal(sweep.cluster, "node1", "STOP", f"_submit {sweep.run}")
    sweep.await_starts("held-5", 10, timeout=200)
    sweep.open()
    assert_ends(sweep, "", OK, within=200, code=0)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_slurms_controller_is_stopped_or_killed_and_started_anew(sweep, killed):
    """What runs goes on, and ends; the job ends once the controller is back."""
    with sweep.cluster.no_controller(killed=killed):
        time.sleep(15)  # the follower asks in vain
        sweep.open()
        sweep.await_states(**{name.replace("-", "_"): "ok" for name in OK})
    assert_ends(sweep, "", OK, within=120, code=0)


@pytest.mark.slow
@pytest.mark.parametrize("node", ["node2", "node4"])
def test_an_agent_is_killed_while_the_controller_is_stopped(sweep, node):
    """It is started again once Slurm gives it a step."""
    with sweep.cluster.no_controller(killed=False):
        signal(sweep.cluster, node, "KILL", AGENT)
        sweep.await_states(held_5="lost")
        time.sleep(15)
    said = assert_ends(
        sweep, f"{node} has lost its agent: killed by SIGKILL", USED_AGAIN, within=90
    )
    assert f"{node} is back" in said


@pytest.mark.slow
def test_the_job_is_cancelled(sweep):
    sweep.cluster.run("scancel", *sweep.jobs())
    assert_ends(sweep, "its job was cancelled", dict.fromkeys(OK, "cancelled"), within=60, code=130)


@pytest.mark.slow
@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED"])
def test_the_job_is_put_into_the_queue_again(sweep, state):
    (job,) = sweep.jobs()
    if state == "SUSPENDED":
        sweep.cluster.run("scontrol", "suspend", job)
    sweep.cluster.run("scontrol", "requeue", job)
    if state == "SUSPENDED":
        sweep.cluster.run("scontrol", "release", job)  # Slurm holds it
    sweep.await_starts("held-5", 10, timeout=200)
    sweep.open()
    assert_ends(sweep, "", OK, within=200, code=0)


@pytest.mark.slow
def test_a_job_that_has_ended_is_put_into_the_queue_again(sweep):
    """It finds that nothing is missing."""
    (job,) = sweep.jobs()
    sweep.open()
    assert_ends(sweep, "", OK, within=60, code=0)
    before = sweep.starts()
    sweep.cluster.run("scontrol", "requeue", job)
    sweep.cluster.wait("it runs again", 60, lambda: sweep.cluster.sacct(job)[job] != "COMPLETED")
    assert sweep.cluster.await_end(job) == "COMPLETED"
    assert sweep.starts() == before


@pytest.mark.slow
def test_the_job_is_pre_empted(networked, make_sweep, tmp_path):
    sweep = begun(make_sweep(tmp_path, SIZES, partition="scavenge"))
    networked.sbatch("--nodes=5", "--exclusive", "--output=/dev/null", "--wrap=sleep 2")
    sweep.await_starts("held-5", 10, timeout=200)
    sweep.open()
    assert_ends(sweep, "", OK, within=200, code=0)


@pytest.mark.slow
def test_the_job_reaches_its_time_limit(networked, make_sweep, tmp_path):
    sweep = begun(make_sweep(tmp_path, SIZES, timeout=1, signal_delay=20))
    states = {"held-5": "timeout", "quick-5": "not begun", "quick-1": "not begun"}
    assert_ends(sweep, "ended by the time limit of its job", states, within=120)
