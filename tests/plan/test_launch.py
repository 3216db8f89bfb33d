from pathlib import Path

import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.schema import FakeImageNet, PlanSpec
from milabench_ddp.plan.command_line import Site
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.plan.planner import plan_launches
from tests.support.launches import SITE, benchmark, cluster, njobs


def process(*tag: str, **env: str) -> Process:
    return Process(("b", *tag), ("program",), env, 0, (0,))


def test_the_name_of_a_process_is_its_tag() -> None:
    assert process("R1", "D0", "node2").name == "b.R1.D0.node2"


def test_a_rank_is_told_by_its_environment() -> None:
    assert process(RANK="0").is_rank
    assert not process(LOCAL_RANK="0").is_rank


def test_only_independent_processes_need_a_signal_to_measure_together() -> None:
    one, two, rank = process("D0"), process("D1"), process("D1", RANK="1")
    assert Launch(benchmark(), None, (one, two)).barrier
    assert not Launch(benchmark(), None, (one,)).barrier
    assert not Launch(benchmark(), None, (one, rank)).barrier


@pytest.mark.parametrize("plan", [PlanSpec("per_gpu"), njobs(2)])
def test_a_launch_travels_as_json(plan: PlanSpec) -> None:
    data = FakeImageNet(100, 4, 4, 256, 0, "FakeImageNet")
    made = benchmark(
        plan=plan,
        tags=frozenset({"a", "b"}),
        voir={"stop": 3},
        voirfile=Path("/programs/voirfile.py"),
        record={"argv": {"--lr": 0.1}, "tags": ["a"]},
        data=data,
    )
    (planned,) = plan_launches(made, cluster(gpus=4, nodes=2), SITE)
    assert decode(encode(planned), Launch) == planned
    assert decode(encode(planned.processes[0]), Process) == planned.processes[0]


def test_a_site_travels_as_json() -> None:
    site = Site("/usr/bin/python3", {"torch": "/venv/bin/python"}, Path("/shim.py"), "tasks")
    assert decode(encode(site), Site) == site
