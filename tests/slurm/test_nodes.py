"""Nodes that cannot take part, whichever they are: named at once, with the reason."""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from milabench_ddp.results.node_state import NodeStatus

from .planted import FIRST, NODES, SIZES, on
from .sweeps import ended

pytestmark = pytest.mark.slurm


@pytest.fixture
def hide(cluster):
    """Hides a file or a folder from one node, until the test ends."""
    with ExitStack() as stack:

        def hide(node, path):
            how = ["-t", "tmpfs", "none"] if path.is_dir() else ["--bind", "/dev/null"]
            cluster.exec(node, "mount", *how, str(path))
            stack.callback(cluster.exec, node, "umount", str(path))

        yield hide


def assert_left_out(sweep, node, why):
    """The sweep has run what fits on the other nodes, and names this one everywhere."""
    code, out, err = ended(sweep.begin())
    assert code == 1, err
    assert sweep.states() == {"quick-3": "lost", "quick-1": "ok"}
    said = f"{node} did not start: {why}"
    told, began = err.index(said), err.index("quick-1: on ")
    assert told < began, err
    assert said in sweep.reason("quick-3")
    assert out.count(said) == 1  # as the cause of the benchmark's failure
    state = sweep.state().nodes[node]
    assert state.status is NodeStatus.FAILED
    assert f"{node} {state.problem}".startswith(said)
    return state


def assert_job_failed(sweep, why, *options):
    """The job could not start on its first node, which the reasons name."""
    code, _, err = ended(sweep.begin(*options))
    assert code == 1, err
    assert sweep.states() == {"quick-3": "not begun", "quick-1": "not begun"}
    assert sweep.reason("quick-3") == sweep.reason("quick-1")
    start = f"its job ended before it began: FAILED, {why}"
    assert sweep.reason("quick-3").startswith(start), sweep.reason("quick-3")
    assert sweep.reason("quick-3") in err


@pytest.mark.parametrize("node", [FIRST, "node3"])
def test_setup_runs_on_every_node_and_fails_where_it_fails(cluster, make_sweep, tmp_path, node):
    ran = tmp_path / "ran"
    setup = [f"hostname >> {ran}", "modul() { false; }", on(node, "modul load 'cuda 13'")]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), **NODES)
    command = setup[-1]
    why = f"the setup command failed: {command} (see "
    state = assert_left_out(sweep, node, why)
    assert f"the setup command failed: {command}" in state.log
    assert sorted(ran.read_text().split()) == ["node1", "node2", "node3"]


@pytest.mark.parametrize("node", ["node1", pytest.param("node4", marks=pytest.mark.slow)])
def test_a_spare_node_takes_the_place_of_one_that_does_not_start(make_sweep, tmp_path, node):
    setup = [on(node, "false")]
    options = "{nodelist: 'node[1-4]'}"
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), options=options)
    code, out, err = ended(sweep.begin("--spare", "1"))
    assert (code, sweep.states()) == (0, {"quick-3": "ok", "quick-1": "ok"}), err
    assert ": nodes: 4, benchmarks: 2" in err
    others = [each for each in ("node1", "node2", "node3", "node4") if each != node]
    assert sweep.state().benchmarks["quick-3"].nodes == tuple(others)
    said = f"{node} did not start: the setup command failed: {setup[0]}"
    assert said in err
    assert said in " ".join(out.split())
    assert sweep.state().nodes[node].status is NodeStatus.LEFT_OUT


def test_the_last_node_does_not_see_the_run_folder(make_sweep, tmp_path, hide):
    sweep = make_sweep(tmp_path, SIZES, **NODES)
    (tmp_path / "runs").mkdir()
    hide("node3", tmp_path / "runs")
    assert_left_out(sweep, "node3", f"{sweep.run}/plan.json is not there: all nodes must see")


def test_the_last_node_has_another_folder_under_the_same_path(cluster, make_sweep, tmp_path, hide):
    """Its agent finds a plan there, but not the coordinator's folder."""
    plan, runs = tmp_path / "plan.json", tmp_path / "runs"
    there = f"cp {runs}/sweep/plan.json {plan}.new && mv {plan}.new {plan}"
    here = f"until [ -e {plan} ]; do sleep 0.1; done; mkdir -p {runs}/sweep; cp {plan} {runs}/sweep"
    setup = [on("node2", there), on("node3", here)]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), **NODES)
    runs.mkdir()
    hide("node3", runs)
    assert_left_out(sweep, "node3", f"{sweep.run} is another folder there: all nodes must see")


@pytest.mark.parametrize("folder", ["runs", "jobs"])
def test_the_first_node_does_not_see_the_folder_of_the_jobs(make_sweep, tmp_path, hide, folder):
    sweep = make_sweep(tmp_path, SIZES, **NODES)
    (tmp_path / folder).mkdir()
    hide("node1", tmp_path / folder)
    jobs = sweep.run / "submitit" if folder == "runs" else tmp_path / "jobs"
    options = [] if folder == "runs" else ["--job-dir", jobs]
    assert_job_failed(sweep, f"node1 could not open the files of its job in {jobs}", *options)


def test_the_last_node_does_not_need_the_folder_of_the_jobs(make_sweep, tmp_path, hide):
    sweep = make_sweep(tmp_path, SIZES, **NODES)
    (tmp_path / "jobs").mkdir()
    hide("node3", tmp_path / "jobs")
    code, _, err = ended(sweep.begin("--job-dir", tmp_path / "jobs"))
    assert code == 0, err


@pytest.mark.parametrize("node", ["node1", "node3"])
def test_a_node_without_python(make_sweep, tmp_path, hide, node):
    sweep = make_sweep(tmp_path, SIZES, **NODES)
    hide(node, Path(os.path.realpath(sys.executable)))
    if node == "node1":
        assert_job_failed(sweep, "exit status 126 on node1: ")
        reason = sweep.reason("quick-3")
    else:
        reason = assert_left_out(sweep, node, "its agent ended with exit status 126: ").reason
    assert sys.executable in reason
    assert "Permission denied (see " in reason


@pytest.mark.parametrize("node", [FIRST, "node3"])
def test_an_agent_that_does_not_answer_is_named_and_not_waited_for(make_sweep, tmp_path, node):
    setup = [on(node, "echo waiting for a disk; sleep 600")]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), **NODES)
    command = sweep.begin()
    sweep.await_states(quick_1="ok", quick_3="waiting", timeout=100)
    assert sweep.state().nodes[node].reason.startswith("has not answered for 10 s (see ")
    assert sweep.state().nodes[node].log[-1] == "waiting for a disk"
    sweep.cluster.run("scancel", *sweep.jobs())
    code, _, err = ended(command)
    assert code == 130, err
    assert err.index(f"{node} has not answered for 10 s") < err.index("quick-1: on ")
