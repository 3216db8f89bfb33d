"""What happens to nodes and jobs in the midst of a sweep: a true table, and nothing lost."""

from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest

from .conftest import closing_sweeps
from .sweeps import ended

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def early(live_cluster, tmp_path_factory):
    """Those that take long, begun before all others and on nodes that these do not use."""
    live_cluster.reset()
    folder = tmp_path_factory.mktemp("early")
    with closing_sweeps(live_cluster) as make:
        others = "node[3-4]"
        orphaned = make(folder / "a", {"quick": [2], "held": [1, 2]}, exclude=others)
        short = partial(make, timeout=1, exclusive="false", options="{nodelist: node5}")
        limited = short(folder / "b", {"held": [1], "quick": [1]}, signal_delay=20)
        unwarned = short(folder / "c", {"held": [1], "quick": [1]}, signal_delay=0)
        begun = SimpleNamespace(orphaned=orphaned, limited=limited, unwarned=unwarned)
        begun.orphaned_command = orphaned.begin()
        orphaned.await_states(quick_2="ok", held_2="running")
        orphaned.await_starts("held-2", 2)
        begun.limited_command, begun.unwarned_command = limited.begin(), unwarned.begin()
        assert orphaned.benchmarks()["held-2"].nodes == ("node1", "node2")
        live_cluster.crash("node1")
        orphaned.open()
        yield begun


@pytest.fixture
def nodes(early, live_cluster):
    """The cluster, with what is begun early on its first nodes; the others as new."""
    for node in ("node3", "node4"):
        if live_cluster.has_network:
            live_cluster.heal(node)
        with suppress(AssertionError):  # it is on
            live_cluster.boot(node)
    return live_cluster


@pytest.fixture
def sweep_of(nodes, tmp_path):
    """Makes a sweep on the other nodes."""
    with closing_sweeps(nodes) as make:
        yield partial(make, tmp_path, options="{nodelist: 'node[3-4]'}")


def test_a_pre_empted_job_goes_on_when_it_gets_its_nodes_back(nodes, sweep_of):
    node = "{nodelist: node4}"
    sweep = sweep_of({"quick": [1], "held": [1]}, partition="scavenge", options=node)
    command = sweep.begin()
    sweep.await_states(quick_1="ok", held_1="running")
    sweep.await_starts("held-1", 1)
    job = nodes.sbatch("--nodelist=node4", "--exclusive", "--output=/dev/null", "--wrap=sleep 2")
    sweep.await_states(held_1="cancelled")
    assert sweep.reason("held-1") == "pre-empted by another job"
    sweep.open()
    assert nodes.await_end(job) == "COMPLETED"
    code, _, err = ended(command)
    assert code == 0, err
    assert len(sweep.jobs()) == 1
    assert set(sweep.states().values()) == {"ok"}
    assert sweep.starts() == {"quick-1": 1, "held-1": 2}


def test_a_node_without_power_takes_its_own_benchmark_with_it(nodes, sweep_of):
    sweep = sweep_of({"quick": [2, 1], "held": [2]})
    command = sweep.begin()
    sweep.await_states(quick_2="ok", held_2="running")
    sweep.await_starts("held-2", 2)
    with nodes.slurmd_timeout(120):  # heartbeats tell, and not Slurm
        nodes.crash("node4")
        sweep.await_states(held_2="lost")
    code, out, err = ended(command)
    assert code == 1, err
    assert "failed   held-2: lost: node4 has sent no heartbeat for 20 s\n" in out
    assert f"milabench run --resume {sweep.run} --exclude-nodes node4: run what" in out
    assert sweep.states() == {"quick-2": "ok", "quick-1": "ok", "held-2": "lost"}
    assert sweep.reason("held-2") == "node4 has sent no heartbeat for 20 s"
    assert sweep.starts() == {"quick-2": 2, "quick-1": 1, "held-2": 2}
    nodes.boot("node4")
    sweep.resume()
    assert sweep.starts() == {"quick-2": 2, "quick-1": 1, "held-2": 4}


def test_nothing_is_left_of_a_job_whose_coordinator_is_killed(nodes, sweep_of):
    sweep = sweep_of({"held": [2], "quick": [1]})
    command = sweep.begin()
    sweep.await_states(held_2="running")
    sweep.await_starts("held-2", 2)
    (job,) = sweep.jobs()
    nodes.exec("node3", "pkill", "-KILL", "-f", f"_submit {sweep.run}")
    code, out, err = ended(command)
    assert code == 1, err
    assert sweep.states() == {"held-2": "lost", "quick-1": "not begun"}
    assert sweep.reason("held-2").startswith("its job ended: FAILED, exit status 137 on node3")
    table = sweep.table()
    assert "lost [1]" in table
    assert "[1] its job ended: FAILED" in table
    assert "cancelled" not in out + table
    for node in ("node3", "node4"):
        assert str(sweep.folder) not in nodes.exec(node, "ps", "axww")
    assert nodes.await_end(job) == "FAILED"
    assert set(nodes.sacct(job)) == {job, f"{job}.batch", f"{job}.0"}  # one step of both agents
    sweep.resume()
    assert sweep.starts() == {"held-2": 4, "quick-1": 1}


def test_a_node_whose_cable_is_pulled_is_used_again_when_it_is_back(nodes, sweep_of):
    if not nodes.has_network:
        pytest.skip("nodes have no cables here")
    sweep = sweep_of({"held": [2], "quick": [2, 1]})
    with nodes.slurmd_timeout(120):  # a node that Slurm has given up is back without its agent
        command = sweep.begin()
        sweep.await_states(held_2="running")
        sweep.await_starts("held-2", 2)
        nodes.cut("node4")
        sweep.await_states(held_2="lost", quick_1="running")
        nodes.wait("its program ended", 10, lambda: "held-2" not in nodes.exec("node4", "ps", "ax"))
        nodes.heal("node4")
        code, out, err = ended(command)
    assert code == 1, err
    assert sweep.states() == {"held-2": "lost", "quick-2": "ok", "quick-1": "ok"}, out
    sweep.resume()
    assert sweep.starts() == {"held-2": 4, "quick-2": 2, "quick-1": 1}


def test_a_cancelled_job_leaves_what_it_has_measured(nodes, sweep_of):
    sweep = sweep_of({"quick": [2], "held": [2, 1]})
    command = sweep.begin()
    sweep.await_states(quick_2="ok", held_2="running")
    sweep.await_starts("held-2", 2)
    nodes.run("scancel", *sweep.jobs())
    code, _, err = ended(command)
    assert code == 130, err
    assert sweep.states() == {"quick-2": "ok", "held-2": "cancelled", "held-1": "cancelled"}
    assert sweep.reason("held-2") == "its job was cancelled"
    sweep.resume()
    assert sweep.starts() == {"quick-2": 2, "held-2": 4, "held-1": 1}


@pytest.mark.parametrize("name", ["limited", "unwarned"])
def test_the_time_limit_of_a_job_is_the_reason(nodes, early, name):
    sweep = getattr(early, name)
    code, _, err = ended(getattr(early, f"{name}_command"))
    assert code == 1, err
    assert sweep.states() == {"held-1": "timeout", "quick-1": "not begun"}
    assert sweep.reason("held-1") == "ended by the time limit of its job"
    sweep.resume()
    assert sweep.starts() == {"held-1": 2, "quick-1": 1}


def test_a_job_whose_coordinator_has_no_power_starts_again_on_other_nodes(nodes, early):
    sweep = early.orphaned
    code, out, err = ended(early.orphaned_command)
    assert code == 0, err
    assert out.startswith("PASS")
    assert "node1 had the coordinator, which ended without a word" in out
    assert len(sweep.jobs()) == 1
    assert set(sweep.states().values()) == {"ok"}
    assert sweep.starts() == {"quick-2": 2, "held-2": 4, "held-1": 1}
