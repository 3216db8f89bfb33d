"""Sweeps over the nodes of a cluster: the table fills while they run."""

from itertools import combinations

import pytest

from .sweeps import REPOSITORY, ended

pytestmark = pytest.mark.slurm
SIZES = {"quick": [4, 2, 1], "held": [2], "raises": [1], "hangs": [1]}
STARTS = {"quick-4": 4, "quick-2": 2, "quick-1": 1, "held-2": 2, "raises-1": 1, "hangs-1": 1}
STATES = {
    **{"quick-4": "ok", "quick-2": "ok", "quick-1": "ok", "held-2": "ok"},
    **{"raises-1": "failed", "hangs-1": "timeout"},
}


def cells(table):
    """The rows of a table, as words, by their first."""
    return {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.strip()}


def overlap(one, other):
    """Whether two benchmarks ran at the same time."""
    return one.started < other.ended and other.started < one.ended


@pytest.fixture
def sweep(cluster, make_sweep, tmp_path):
    """One with a program of each kind."""
    return make_sweep(tmp_path, SIZES)


def assert_no_two_share_a_node(benchmarks):
    for one, other in combinations(benchmarks.values(), 2):
        if set(one.nodes) & set(other.nodes):
            assert not overlap(one, other), (one, other)


def test_in_one_job_a_crash_and_a_hang_take_down_nothing_else(sweep):
    command = sweep.begin()
    sweep.await_states(quick_4="ok", held_2="running")
    table = cells(sweep.table())
    assert "waiting.." in table["hangs"]
    sweep.await_states(raises_1="failed", hangs_1="timeout")  # while held-2 has two nodes
    sweep.open()
    code, out, err = ended(command)
    assert code == 1, err
    assert sweep.states() == STATES
    assert "RuntimeError: out of luck" in out
    assert "hangs-1: it hangs in `time.sleep(600)`" in out
    found = sweep.benchmarks()
    assert len(sweep.jobs()) == 1
    assert overlap(found["held-2"], found["quick-2"])
    assert overlap(found["held-2"], found["hangs-1"])
    assert_no_two_share_a_node(found)
    code, _, err = ended(sweep.milabench("run", "--resume", sweep.run))
    assert "nothing to run, all 6 have a result" in err
    assert sweep.starts() == STARTS


def test_in_jobs_of_their_own(sweep):
    command = sweep.begin("--allocation", "separate")
    sweep.await_states(raises_1="failed", hangs_1="timeout", held_2="running")
    sweep.open()
    code, _, err = ended(command)
    assert code == 1, err
    assert sweep.states() == STATES
    assert len(set(sweep.jobs())) == len(SIZES) + 2
    assert sweep.starts() == STARTS


@pytest.mark.parametrize(
    ("allocation", "nodes", "gpus"),
    [
        ("shared", "2,1", 2),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("shared", "4,2", 1), ("separate", "2,1", 2))
        ),
    ],
)
def test_torchrun_over_the_nodes_of_a_sweep(cluster, make_sweep, tmp_path, allocation, nodes, gpus):
    """The program checks the sums of its all-reduce: the ranks really work together."""
    network = {"environment": "{GLOO_SOCKET_IFNAME: eth0}"} if cluster.has_network else {}
    tiny = make_sweep(tmp_path, {"quick": [1]}, timeout=20, **network)
    words = [REPOSITORY / "config/sweeps/small.yaml", "--select", "all_reduce*"]
    words += ["--override", "*.max_duration=600"]  # other tests run beside it
    words += ["--runner", tiny.profile, "--partition", "train", "--job-dir", tmp_path / "jobs"]
    words += ["--nodes", nodes, "--device", "cpu", "--gpus", str(gpus)]
    command = tiny.milabench("run", *words, "--allocation", allocation, "--name", "sweep")
    names = [f"all_reduce-{count}" for count in nodes.split(",")]
    tiny.await_states(**{f"all_reduce_{nodes[0]}": "running"})
    table = cells(tiny.table())
    assert table[nodes[0]] == ["running"]
    if allocation == "shared":
        assert table[nodes[2]] == ["waiting.."]
    code, out, err = ended(command)
    assert code == 0, out + err
    assert tiny.states() == dict.fromkeys(names, "ok")
    table = cells(tiny.table())
    assert all(float(table[count][0]) > 0 for count in nodes.split(","))
    ranks = [len(tiny.benchmarks()[name].launches[0].processes) for name in names]
    assert ranks == [int(count) for count in nodes.split(",")]
    assert list((tmp_path / "jobs").iterdir())
    assert tiny.state().header.outcome == "ok"
