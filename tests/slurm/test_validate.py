"""Nodes with planted faults on a cluster: each is named with its reason, and nobody else."""

import json
from contextlib import contextmanager

import pytest

from milabench_ddp.results.node_state import NodeStatus

from .planted import FAKE_DRIVER, on
from .sweeps import REPOSITORY, ended

pytestmark = pytest.mark.slurm
# Tells rates of 100 with a spread of 1 %, or what the file `plan` says of its node.
PROGRAM = """\
import json, os, pathlib, random, signal, socket

here, node = pathlib.Path(__file__).parent, socket.gethostname()
kind = json.loads((here / "plan").read_text()).get(node, "")
usual = 100 * (0.9 if kind == "slow" else 1)
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    for step in range(80):
        if step == 40 and kind == "hangs":
            os.kill(os.getpid(), signal.SIGSTOP)
        line = {"task": "train", "rate": random.gauss(usual, 1), "units": "items/s", "steps": 1}
        out.write(json.dumps(line | {"rank": int(os.environ.get("RANK", 0))}) + "\\n")
"""
SUITE = """\
_program: {program: p.py, tags: [validate, quick], max_duration: 60}
one: {inherits: _program, plan: {method: per_gpu}}
two: {inherits: _program, plan: {method: PLAN}}
"""


class Validation:
    """A suite whose nodes do as a test says, and a validation by it."""

    def __init__(self, sweep, plan, **faults):
        self.sweep, self.folder = sweep, sweep.folder
        (self.folder / "p.py").write_text(PROGRAM)
        (self.folder / "mine.yaml").write_text(SUITE.replace("PLAN", plan))
        (self.folder / "plan").write_text(json.dumps(faults))

    def begin(self, *options, verb="validate", name="sweep"):
        words = [verb, self.folder / "mine.yaml", "--runner", self.sweep.profile, "--name", name]
        return self.sweep.milabench(*words, "--base", self.folder, *options)

    def lists(self, name="sweep"):
        run = self.folder / "runs" / name
        return {
            word: (run / f"{word}_nodes.txt").read_text().split() for word in ("passing", "failing")
        }

    def verdicts(self):
        words = ["report", self.sweep.run, "--format", "json"]
        document = json.loads(ended(self.sweep.milabench(*words))[1])
        return {each["node"]: each for each in document["verdicts"]}


@pytest.fixture
def validation(make_sweep, tmp_path):
    def make(*setup, faults=None, plan="per_gpu", **profile):
        lines = {"setup": json.dumps(list(setup))} if setup else {}
        sweep = make_sweep(tmp_path, {"quick": [1]}, **lines, **profile)
        return Validation(sweep, plan, **(faults or {}))

    return make


def slow(node):
    return pytest.param(node, marks=pytest.mark.slow)


CPU = ("--device", "cpu", "--gpus", "1")


@contextmanager
def drained(cluster, node, reason):
    cluster.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
    try:
        yield
    finally:
        cluster.run("scontrol", "update", f"NodeName={node}", "State=UNDRAIN")


def test_each_faulty_node_is_named_with_its_reason(cluster, validation, tmp_path):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "sitecustomize.py").write_text(FAKE_DRIVER)
    path = f"export PYTHONPATH={tmp_path}/fake:{REPOSITORY} FAKE_GPUS=2"
    lacks = on("node2", "export FAKE_GPUS=1")
    it = validation(path, lacks, faults={"node5": "hangs"}, gpus_per_node=2)
    mine = cluster.sbatch("--partition=train", "--nodes=1", "--wrap=sleep 600", "--hold")
    with drained(cluster, "node4", "fan broke"):
        code, out, err = ended(it.begin("--nodes", "node[1-5]", "--device", "cuda", "--gpus", "2"))
    assert code == 1, out + err
    assert it.lists()["failing"] == ["node2", "node4", "node5"]
    why = {node: " ".join(each["reasons"]) for node, each in it.verdicts().items()}
    assert sorted(why) == ["node1", "node2", "node3", "node4", "node5"]
    assert "node2 did not start: --gpus 2: 1 cuda device can be" in why["node2"]
    assert "node4 did not start: Slurm has it as drained (fan broke)" in why["node4"]
    assert "node5: 2 of 2 took too long" in why["node5"]
    assert "is stopped" in why["node5"]
    assert it.sweep.state().nodes["node4"].status is NodeStatus.LEFT_OUT
    assert cluster.squeue(mine) == "PENDING"  # no job but its own is touched
    cluster.run("scancel", mine)
    again = it.begin("--exclude-nodes", f"@{it.sweep.run}/failing_nodes.txt", "--nodes", "2",
                     "--detach", *CPU, verb="run", name="next")  # fmt: skip
    assert ended(again)[0] == 0
    (job,) = cluster.run("squeue", "-h", "-o", "%A").split()
    cluster.await_running(job)
    assert cluster.run("squeue", "-h", "-o", "%N", "-j", job).strip() == "node[1,3]"


def test_a_node_that_is_lost_loses_nothing_of_the_others(cluster, validation):
    it = validation(faults={"node3": "hangs"}, plan="njobs, each: node")
    assert ended(it.begin("--nodes", "node[1-3]", "--detach", *CPU))[0] == 0
    command = it.sweep.milabench("watch", it.sweep.run)
    cluster.wait("one runs", 120, lambda: it.sweep.jobs() and it.sweep.states()["one"] == "running")
    cluster.wait("its data", 60, lambda: (it.sweep.run / "one.D0.node3.data").exists())
    cluster.crash("node3")
    code, out, err = ended(command)
    assert code == 1, out + err
    assert it.lists()["failing"] == ["node3"]
    ends = {
        each.tag: each.outcome
        for launch in it.sweep.benchmarks()["one"].launches
        for each in launch.processes
    }
    assert ends == {"one.D0.node1": "ok", "one.D0.node2": "ok"}
    assert it.sweep.states()["two"] == "ok"  # on those that there were
    assert it.sweep.benchmarks()["two"].nodes == ("node1", "node2")


@pytest.mark.parametrize("odd", [slow("node1"), "node5"])
def test_a_slow_node_is_named(cluster, validation, odd):
    it = validation(faults={odd: "slow"})
    code, out, err = ended(it.begin("--nodes", "5", "--device", "cpu", "--gpus", "2"))
    assert code == 1, out + err
    others = [node for node in cluster.nodes() if node != odd]
    assert it.lists() == {"passing": others, "failing": [odd]}, out
    verdict = it.verdicts()[odd]
    assert 0.05 < verdict["lower"] < 0.15
    assert verdict["action"] == "isolate"


def test_a_node_without_power_is_named_with_what_slurm_says(cluster, validation):
    it = validation()
    with cluster.slurmd_timeout(120):  # Slurm does not know it yet, and gives it to the job
        cluster.crash("node2")
        code, out, err = ended(it.begin("--nodes", "node[1-3]", *CPU))
    assert code == 1, out + err
    assert it.lists()["failing"] == ["node2"]
    (why,) = it.verdicts()["node2"]["reasons"]
    said = "node2 did not start: Slurm has it as allocated, which does not respond"
    assert why.startswith(said), why
    assert it.sweep.states() == {"one": "ok", "two": "ok"}


@pytest.mark.parametrize("odd", [slow("node1"), slow("node3"), "node5"])
def test_a_node_with_a_limited_network_is_named(networked, make_sweep, tmp_path, odd):
    sweep = make_sweep(tmp_path, {"quick": [5]})
    for node in networked.nodes():
        networked.rate(node, "10mbit" if node == odd else "100mbit")  # so little needs no core
    words = ["validate", "--select", "pairs", "--runner", sweep.profile, "--nodes", "5", *CPU]
    words += ["--override", "*.env.OMP_NUM_THREADS=1"]
    words += ["--base", tmp_path, "--name", "sweep"]
    code, out, err = ended(sweep.milabench(*words))
    assert code == 1, out + err
    assert (sweep.run / "failing_nodes.txt").read_text().split() == [odd]
    document = json.loads(ended(sweep.milabench("report", sweep.run, "--format", "json"))[1])
    found = [each for each in document["findings"] if each["name"] == "slow_node_links"]
    assert [each["nodes"] for each in found] == [[odd]]
