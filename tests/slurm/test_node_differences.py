"""Nodes that are not as the others, or whose GPUs cannot be used: told before all else."""

import json
import sys

import pytest

from .planted import FAKE_DRIVER, FIRST, NODES, SIZES, on
from .sweeps import REPOSITORY, ended

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("node", [FIRST, "node3"])
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


@pytest.mark.parametrize(
    ("node", "gpus"),
    [
        ("node1", "1"),
        ("node3", "0"),
        ("node3", "2 NVIDIA T400"),
        *(pytest.param("node1", gpus, marks=pytest.mark.slow) for gpus in ("0", "2 NVIDIA T400")),
        pytest.param("node3", "1", marks=pytest.mark.slow),
    ],
)
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


@pytest.mark.parametrize("node", [FIRST, "node3"])
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
