"""Jobs that take the order of their nodes from the file that a validation writes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .live import LiveCluster
from .sweeps import Sweep, ended

pytestmark = pytest.mark.slurm
FROM_THE_LAST, FROM_THE_FIRST = ["node3", "node1", "node2"], ["node1", "node3", "node2"]
ORDERS = [FROM_THE_LAST, pytest.param(FROM_THE_FIRST, marks=pytest.mark.slow)]


@pytest.fixture(params=ORDERS, ids="-".join)
def order(
    request: pytest.FixtureRequest, cluster: LiveCluster, tmp_path: Path
) -> Iterator[list[str]]:
    names: list[str] = request.param
    file = tmp_path / "node_order.txt"
    file.write_text("".join(f"{name}\n" for name in names))
    cluster.env["SLURM_HOSTFILE"] = str(file)
    yield names
    del cluster.env["SLURM_HOSTFILE"]


def test_sbatch_takes_the_nodes_in_their_order(
    cluster: LiveCluster, order: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsrun --label hostname\n")
    words = ["--nodes=3", "--distribution=arbitrary", f"--output={tmp_path}/output", str(script)]
    cluster.await_end(cluster.sbatch(*words))
    said = dict(line.split(": ") for line in (tmp_path / "output").read_text().splitlines())
    assert [said[str(task)] for task in range(3)] == order


def test_ranks_of_a_run_are_in_that_order(
    make_sweep: Callable[..., Sweep], order: list[str], tmp_path: Path
) -> None:
    sweep = make_sweep(tmp_path / "s", {"quick": [3]}, options="{distribution: arbitrary}")
    code, out, err = ended(sweep.begin())
    assert code == 0, out + err
    (launch,) = sweep.benchmarks()["quick-3"].launches
    nodes = [process.tag.split(".")[-1] for process in launch.processes]
    assert nodes == order
