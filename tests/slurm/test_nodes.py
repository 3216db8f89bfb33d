"""Nodes that cannot take part, or differ, whichever they are: named at once, with the reason."""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from milabench_ddp.results.node_state import NodeStatus

from .sweeps import REPOSITORY, ended

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(300)]
SIZES = {"quick": [3, 1]}
NODES = {"options": "{nodelist: 'node[1-3]'}"}
ENDS = ["node1", "node3"]  # the coordinator is on the first one

# Every process that a node starts finds GPUs that the test has put there, as FAKE_GPUS says.
FAKE_DRIVER = """\
import os, sys
from tests.fakes.nvml import FakeNvml, gpus
count, _, name = os.environ.get("FAKE_GPUS", "0").partition(" ")
sys.modules["pynvml"] = FakeNvml(gpus(int(count), name or "NVIDIA H200"))
"""


@pytest.fixture
def hide(cluster):
    """Hides a file or a folder from one node, until the test ends."""
    with ExitStack() as stack:

        def hide(node, path):
            how = ["-t", "tmpfs", "none"] if path.is_dir() else ["--bind", "/dev/null"]
            cluster.exec(node, "mount", *how, str(path))
            stack.callback(cluster.exec, node, "umount", str(path))

        yield hide


def on(node, command):
    """A setup command that one node executes, as YAML."""
    return f'[ "$(hostname)" != {node} ] || {{ {command}; }}'


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


@pytest.mark.parametrize("node", ENDS)
def test_setup_runs_on_every_node_and_fails_where_it_fails(cluster, make_sweep, tmp_path, node):
    ran = tmp_path / "ran"
    setup = [f"hostname >> {ran}", "modul() { false; }", on(node, "modul load 'cuda 13'")]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), **NODES)
    command = setup[-1]
    why = f"the setup command failed: {command} (see "
    state = assert_left_out(sweep, node, why)
    assert f"the setup command failed: {command}" in state.log
    assert sorted(ran.read_text().split()) == ["node1", "node2", "node3"]


@pytest.mark.parametrize("node", ["node1", "node4"])
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


@pytest.mark.parametrize("node", ENDS)
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


@pytest.mark.parametrize("node", ENDS)
def test_nodes_that_differ_are_told_before_the_first_benchmark(make_sweep, tmp_path, node):
    late = tmp_path / "late"
    late.mkdir()
    clock = "import time\nreal = time.time\ntime.time = lambda: real() - 11.5\n"
    (late / "sitecustomize.py").write_text(clock)
    setup = [on(node, f"export NCCL_ALGO=Ring PYTHONPATH={late}")]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), **NODES)
    code, out, err = ended(sweep.begin())
    assert code == 0, err
    known = sweep.state().nodes[node]
    behind = -known.clock_offset
    assert abs(behind - 11.5) <= known.clock_error
    for said in (
        f"nodes differ: $NCCL_ALGO is Ring on {node}, and not set on the other 2 nodes",
        f"nodes differ: the clock of {node} is {behind:.1f} s behind the coordinator's",
    ):
        assert err.index(said) < err.index("quick-3: on "), err
        assert said in out
    assert known.facts["$NCCL_ALGO"] == "Ring"


@pytest.mark.parametrize("node", ENDS)
@pytest.mark.parametrize("gpus", ["0", "1", "2 NVIDIA T400"])
def test_the_gpus_of_one_node_are_not_those_of_the_others(make_sweep, tmp_path, node, gpus):
    """What the job asked for is there for Slurm; the driver says something else."""
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "sitecustomize.py").write_text(FAKE_DRIVER)
    path = f"export PYTHONPATH={tmp_path}/fake:{REPOSITORY} FAKE_GPUS=2"
    setup = [path, on(node, f"export FAKE_GPUS='{gpus}'")]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), gpus_per_node=2, **NODES)
    command = sweep.begin("--device", "cuda", "--gpus", "2")
    code, out, err = ended(command)
    if gpus.startswith("2"):
        assert code == 0, err
        said = f"nodes differ: the GPU is NVIDIA T400 on {node}, and NVIDIA H200 on the other 2"
    else:
        assert (code, sweep.states()) == (1, {"quick-3": "lost", "quick-1": "ok"}), err
        said = f"{node} did not start: --"
    assert err.index(said) < err.index(": on "), err
    assert said in out


@pytest.mark.parametrize("node", ENDS)
def test_a_node_whose_torch_cannot_use_its_gpus_is_left_out(make_sweep, tmp_path, node):
    """The driver shows the GPUs; a check in the benchmarks' interpreter says what is wrong."""
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "sitecustomize.py").write_text(FAKE_DRIVER)
    setup = [f"export PYTHONPATH={tmp_path}/fake:{REPOSITORY} FAKE_GPUS=1"]
    sweep = make_sweep(tmp_path, SIZES, setup=json.dumps(setup), gpus_per_node=1, **NODES)
    program = sweep.folder / "program.py"
    program.write_text(f"{program.read_text()}\nif False:\n    import torch\n")
    bad, good = '{"problem": "Error 802: planted"}', '{"done": true}'
    check = f"[ $(hostname) = {node} ] && echo '{bad}' || {{ sleep 12; echo '{good}'; }}"
    for name in ("quick-1", "quick-3"):
        python = sweep.folder / "venv" / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        text = f'case "$*" in *preflight.py*) {check};; *) exec {sys.executable} "$@";; esac'
        python.write_text(f"#!/bin/sh\n{text}\n")
        python.chmod(0o755)
    code, out, err = ended(sweep.begin("--device", "cuda"))
    assert (code, sweep.states()) == (1, {"quick-3": "lost", "quick-1": "ok"}), err
    said = f"{node} did not start: --device cuda: {sweep.folder}/venv/quick-"
    assert err.index(said) < err.index("quick-1: on "), err
    assert "cannot use the GPUs: Error 802: planted" in out
    assert "has not answered" not in err  # the others took 12 s for their check


def test_without_a_driver_every_node_says_so(make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, SIZES, **NODES)
    code, _, err = ended(sweep.begin("--device", "cuda", "--gpus", "2"))
    assert code == 1
    assert sweep.states() == {"quick-3": "lost", "quick-1": "lost"}
    assert "3 nodes (node[1-3]) did not start: --device cuda: " in err
    assert "3 nodes (node[1-3]) did not start" in sweep.reason("quick-1")


@pytest.mark.parametrize("node", ENDS)
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


def test_a_job_with_nothing_left_to_do_ends_at_once_and_others_get_the_nodes(
    cluster, make_sweep, tmp_path
):
    """It waits in the queue while another job of the same run does its work."""
    options = "{nodelist: 'node[1-3]', begin: now+4}"
    sweep = make_sweep(tmp_path, SIZES, options=options)
    command = sweep.begin()
    cluster.wait("the job", 30, lambda: bool(sweep.jobs()))
    for name in ("quick-3", "quick-1"):
        folder = sweep.run / name
        folder.mkdir(exist_ok=True)
        (folder / "state.json").write_text(f'{{"name": "{name}", "status": "ok", "ended": 2.0}}')
    ended(command)
    (job,) = sweep.jobs()
    assert cluster.await_end(job) == "COMPLETED"
    assert set(cluster.sacct(job)) == {job, f"{job}.batch"}  # not even an agent
    assert sweep.starts() == {}


@pytest.mark.parametrize("is_followed", [False, True])
@pytest.mark.parametrize("is_bound", [False, True])
def test_a_job_that_starts_again_asks_for_the_nodes_of_what_is_missing(
    cluster, make_sweep, tmp_path, is_bound, is_followed
):
    """It asks itself, also if no command follows it, and if its nodes are given by name.

    So it starts although one of the three nodes is taken.
    """
    options = NODES if is_bound else {}
    sizes = {"quick": [3], "held": [1]}
    sweep = make_sweep(tmp_path, sizes, partition="scavenge", exclude="node[4-5]", **options)
    command = sweep.begin(*[] if is_followed else ["--detach"])
    sweep.await_states(quick_3="ok", held_1="running")
    sweep.await_starts("held-1", 1)
    others = ["--exclusive", "--output=/dev/null"]
    first = cluster.sbatch(*others, "--nodelist=node[1-3]", "--nodes=3", "--wrap=sleep 1")
    stays = cluster.sbatch(*others, "--nodelist=node1", "--nodes=1", "--wrap=sleep 300")
    assert cluster.await_end(first) == "COMPLETED"
    sweep.await_starts("held-1", 2)
    (job,) = sweep.jobs()
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%D").split() == ["1"]
    assert cluster.squeue(stays) == "RUNNING"
    sweep.open()
    code, _, err = ended(command if is_followed else sweep.milabench("watch", sweep.run))
    assert code == 0, err
    assert sweep.starts() == {"quick-3": 3, "held-1": 2}


@pytest.mark.parametrize("node", ["node2", "node3"])
def test_a_job_gets_nodes_of_a_list_that_is_longer_than_it_needs(
    cluster, make_sweep, tmp_path, node
):
    """Slurm chooses, here the one that is not taken; of a resumed run, too."""
    options = "{nodelist: 'node[2-3]'}"
    sweep = make_sweep(tmp_path, {"held": [1]}, options=options)
    taken = "node2" if node == "node3" else "node3"
    cluster.sbatch(f"--nodelist={taken}", "--exclusive", "--output=/dev/null", "--wrap=sleep 300")
    command = sweep.begin()
    sweep.await_states(held_1="running")
    assert sweep.benchmarks()["held-1"].nodes == (node,)
    cluster.run("scancel", *sweep.jobs())
    assert ended(command)[0] == 130
    sweep.resume()
    assert sweep.benchmarks()["held-1"].nodes == (node,)


def test_a_resumed_run_asks_for_the_nodes_of_what_is_missing(cluster, make_sweep, tmp_path):
    sweep = make_sweep(tmp_path, {"quick": [3], "held": [2]})
    command = sweep.begin()
    sweep.await_states(quick_3="ok", held_2="running")
    cluster.run("scancel", *sweep.jobs())
    assert ended(command)[0] == 130
    sweep.resume()
    assert [job.nodes for job in sweep.state().header.jobs] == [3, 2]
