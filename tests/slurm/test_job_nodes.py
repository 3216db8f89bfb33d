"""The nodes of a job: how many it asks for, and which it may get."""

import pytest

from .planted import NODES, SIZES
from .sweeps import ended

pytestmark = pytest.mark.slurm


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


@pytest.mark.parametrize(
    ("is_bound", "is_followed"),
    [
        (True, False),
        (False, True),
        pytest.param(True, True, marks=pytest.mark.slow),
        pytest.param(False, False, marks=pytest.mark.slow),
    ],
)
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


@pytest.mark.parametrize("node", [pytest.param("node2", marks=pytest.mark.slow), "node3"])
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
