"""Nodes by which a benchmark fails are found in the same job, on nodes that meet over a network."""

import json
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of

from .sweeps import Sweep, ended

NAMES = ("isolated", "fails_by_number", "not_isolated")
pytestmark = pytest.mark.slurm

PROGRAM = '''\
"""Its ranks meet, and fail by which nodes take part, as its words say; then they report rates."""
import json, os, pathlib, socket, sys, time

kind, *words = sys.argv[1:]
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
marker = pathlib.Path(__file__).with_name("has-failed")


def fails(nodes):
    match kind:
        case "with":
            return set(words) <= nodes
        case "many":
            return len(nodes) >= int(words[0])
        case "once":
            first = not marker.exists()
            marker.touch()
            return first


if os.environ["RANK"] == "0":
    server = socket.create_server(("", where[1]))
    others = [server.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
    told = fails({os.environ["MILABENCH_NODE"], *(each.recv(100).decode() for each in others)})
    for each in others:
        each.sendall(b"1" if told else b"0")
else:
    for _ in range(400):
        try:
            connection = socket.create_connection(where)
            break
        except OSError:
            time.sleep(0.05)
    connection.sendall(os.environ["MILABENCH_NODE"].encode())
    told = connection.recv(1) == b"1"
if told:
    raise RuntimeError("these nodes do not go together")
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    for _ in range(5):
        out.write(json.dumps({"task": "train", "rate": 100.0, "units": "items/s"}) + "\\n")
'''


def isolated(make_sweep, folder: Path, *words: str, nodes: int = 5, code: int = 1) -> Sweep:
    """A run of one benchmark to its end; what its program does depends on the words."""
    sweep = make_sweep(folder, {"quick": [nodes]}, launcher="tasks")
    (folder / "program.py").write_text(PROGRAM)
    sweep.config.write_text(
        f"""\
group:
  program: program.py
  plan: {{method: njobs, n: 1}}
  max_duration: 60
  isolate: 2
  argv: {json.dumps(words)}
"""
    )
    ended_with, out, err = ended(sweep.begin())
    assert ended_with == code, out + err
    return sweep


def told(sweep: Sweep) -> dict[str, tuple[str, ...]]:
    """The nodes of each finding of an isolation."""
    findings = report_of([sweep.run]).findings
    found = {each.name: each.nodes for each in findings if each.name in NAMES}
    print(*sweep.state().isolations["group"].probes, sep="\n")  # where a test fails
    return found


FIRST, LAST = (pytest.param(node, marks=pytest.mark.slow) for node in ("node1", "node5"))


@pytest.mark.parametrize("bad", [FIRST, "node3", LAST])
def test_a_node_with_which_it_fails(cluster, make_sweep, tmp_path, bad):
    sweep = isolated(make_sweep, tmp_path, "with", bad)
    assert told(sweep) == {"isolated": (bad,)}
    assert sweep.states() == {"group": "failed"}
    assert len(sweep.jobs()) == 1


@pytest.mark.slow
def test_two_nodes_with_which_it_fails_only_together(cluster, make_sweep, tmp_path):
    sweep = isolated(make_sweep, tmp_path, "with", "node2", "node5")
    assert told(sweep) == {"isolated": ("node2", "node5")}
    assert "node[2,5]" in ended(sweep.milabench("report", sweep.run, "--table", "isolation"))[1]


@pytest.mark.slow
def test_more_than_four_nodes(cluster, make_sweep, tmp_path):
    sweep = isolated(make_sweep, tmp_path, "many", "5")
    assert told(sweep) == {"fails_by_number": ()}
    assert sweep.state().isolations["group"].scale == 5


@pytest.mark.slow
def test_a_failure_that_is_not_repeated(cluster, make_sweep, tmp_path):
    assert told(isolated(make_sweep, tmp_path, "once")) == {"not_isolated": ()}


def test_another_job_of_the_user_lives_on(cluster, make_sweep, tmp_path):
    job = cluster.sbatch("--nodelist=node5", "--output=/dev/null", "--wrap=sleep 250")
    cluster.await_running(job)
    sweep = isolated(make_sweep, tmp_path, "with", "node4", nodes=4)
    assert told(sweep) == {"isolated": ("node4",)}
    assert cluster.squeue(job) == "RUNNING"
