"""Hazards of the environment that runs recorded: of their nodes, and of their processes."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.results.node_state import NodeState, NodeStatus
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import config, end, job, line, rates, write, write_state

CUDA = {"arch": "cuda", "gpus": {}}


def begin(**env: str) -> str:
    return line("start", {"command": ["python"], "time": 1000.0, "env": env})


def process(folder: Path, name: str, *, arch: str = "cuda", **env: str) -> None:
    accelerators = line("meta", {"accelerators": {"arch": arch, "gpus": {}}})
    settings = config(name, device=0, tag=[name, "D0"])
    write(folder, f"{name}.D0", settings, accelerators, begin(**env), rates([1.0] * 9), end())


def hazards(folder: Path) -> list[Finding]:
    return [each for each in report_of([folder]).findings if each.name == "hazard"]


def state(folder: Path, *names: str, **environment: str) -> None:
    write_state(folder, "ok", dict.fromkeys(names, "ok"), machine={"environment": environment})


def test_a_hazard_is_one_sentence_for_all_benchmarks(tmp_path: Path) -> None:
    state(tmp_path, "a", "b", "c", NCCL_P2P_DISABLE="1", CUDA_LAUNCH_BLOCKING="0")
    for name in "abc":
        process(tmp_path, name, OMP_NUM_THREADS="1")
    (found,) = hazards(tmp_path)
    assert found.sentence == (
        "NCCL_P2P_DISABLE=1: GPUs exchange data through the host's memory (in a, b, c)"
    )
    assert found.evidence["benchmarks"] == ["a", "b", "c"]
    assert (found.severity, found.advice) == ("warning", "unset it, unless it is what you measure")


def test_what_a_benchmark_sets_counts_for_it_alone(tmp_path: Path) -> None:
    state(tmp_path, "a", "b", "c", CUDA_LAUNCH_BLOCKING="1")
    process(tmp_path, "a", CUDA_LAUNCH_BLOCKING="0")
    process(tmp_path, "b", TORCHDYNAMO_DISABLE="1")
    process(tmp_path, "c", arch="cpu")
    assert [each.sentence for each in hazards(tmp_path)] == [
        "CUDA_LAUNCH_BLOCKING=1: the host waits for each kernel (in b)",
        "TORCHDYNAMO_DISABLE=1: torch.compile compiles nothing (in b)",
    ]


@pytest.mark.parametrize("odd", ["n0", "n3"])
def test_of_several_nodes_the_one_is_named(tmp_path: Path, odd: str) -> None:
    state(tmp_path, "b", NCCL_P2P_DISABLE="1")  # of the host that started the run, not of a node
    run = RunDir(tmp_path)
    run.nodes.mkdir()
    for node in ("n0", "n1", "n2", "n3"):
        facts = {"the driver": "580", "$NCCL_IB_DISABLE": "1"} if node == odd else {"x": "y"}
        write_record(run.nodes / f"{node}.json", NodeState(node, NodeStatus.JOINED, facts=facts))
        tag = ["b", "0", node] if node == "n0" else ["b", "0", node, "nolog"]
        told: dict[str, Any] = {"node": node, "accelerators": CUDA}
        values = rates([1.0] * 9) if node == "n0" else ""
        settings = job("b", 1, 4, tag=tag)
        write(tmp_path, ".".join(tag), settings, line("meta", told), begin(), values, end())
    (found,) = hazards(tmp_path)
    assert found.sentence == (
        f"NCCL_IB_DISABLE=1 on {odd}: nodes exchange data over IP, not over InfiniBand or RoCE "
        f"(in b)"
    )
    assert found.place == odd


def test_a_run_that_recorded_no_environment_has_none(tmp_path: Path) -> None:
    process(tmp_path, "b", CUDA_LAUNCH_BLOCKING="1")
    assert hazards(tmp_path) == []
