"""plan.json: a plan comes back as it was, and a file that is not one of ours is refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.codec import read_record, write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.config.schema import Benchmark, FakeImageNet, PlanSpec
from milabench_ddp.config.system import SystemNode
from milabench_ddp.dispatch.run_context import RunPlan, read_plan, write_plan
from milabench_ddp.errors import RunDirError
from milabench_ddp.plan.command_line import Site
from milabench_ddp.results.run_dir import RunDir
from tests.support.launches import benchmark

texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
paths = texts.map(lambda text: Path("/", text.replace("\0", "")))
maps = st.dictionaries(texts, texts, max_size=3)
leaves = st.none() | st.booleans() | st.integers() | texts
# What the configuration is checked for is checked again when a plan is read.
sizes = st.integers(8, 2**14)
words = st.from_regex(r"\A[a-z0-9][a-z0-9.-]{0,9}\Z")
lines = st.lists(texts, max_size=3).map(tuple)
benchmarks = st.builds(
    Benchmark,
    name=texts,
    program=paths,
    plan=st.builds(
        PlanSpec,
        st.sampled_from(["per_gpu", "njobs"]),
        st.dictionaries(st.just("n"), st.integers(1, 64)),
    ),
    argv=lines,
    env=maps,
    group=texts,
    install_group=texts,
    tags=st.frozensets(texts, max_size=3),
    max_duration=st.floats(0, allow_nan=False, allow_infinity=False),
    weight=st.floats(allow_nan=False, allow_infinity=False),
    num_machines=st.none() | st.integers(1, 9999),
    preset=st.none() | texts,
    voir=st.none() | st.dictionaries(texts, leaves, max_size=3),
    voirfile=st.none() | paths,
    record=st.dictionaries(texts, leaves | st.lists(leaves, max_size=2), max_size=3),
    data=st.none() | st.builds(FakeImageNet, sizes, sizes, sizes, sizes, sizes, words),
    scaling=st.sampled_from(["weak", "strong"]),
)
sites = st.builds(Site, texts, maps, paths, st.sampled_from(["torchrun", "tasks"]))
profiles = st.builds(
    RunnerProfile,
    kind=st.sampled_from(["local", "slurm", "ssh"]),
    nodes=st.none() | sizes,
    timeout=sizes,
    partition=st.none() | texts,
    options=maps,
    setup=lines,
    environment=maps,
    exclusive=st.booleans(),
)
hosts = st.builds(SystemNode, words, words, st.none() | words, st.booleans(), sizes)
plans = st.builds(
    RunPlan,
    benchmarks=st.lists(benchmarks, max_size=3).map(tuple),
    repeats=st.integers(1, 9),
    site=sites,
    arch=texts,
    gpus=st.none() | st.integers(0, 64),
    nodes=st.integers(1, 9999),
    grace=st.floats(0, 1e6),
    gpu_poll=st.none() | st.floats(0, 1e6),
    runner=st.none() | profiles,
    hosts=st.lists(hosts, max_size=2).map(tuple),
    sshkey=st.none() | paths,
)
GOOD = RunPlan((benchmark(),), 1, Site("python", {}, Path("x")), "cpu", 1, 2, 5.0, None)


@given(plans)
def test_what_is_saved_is_read(tmp_path_factory: pytest.TempPathFactory, plan: RunPlan) -> None:
    run = RunDir(tmp_path_factory.getbasetemp())
    write_plan(run, plan)
    assert read_plan(run) == plan


def test_a_profile_is_what_it_was(tmp_path: Path) -> None:
    runner = RunnerProfile("ssh", setup=("module load cuda",), environment={"A": "1"}, nodes=2)
    write_record(tmp_path / "plan.json", replace(GOOD, runner=runner))
    assert read_record(tmp_path / "plan.json", RunPlan).runner == runner


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 1},
        {"schema": 99},
        {"schema": None},
        {"benchmarks": [{}]},
        {"benchmarks": 7},
        {"site": None},
        {"site": {"python": "x"}},
        {"runner": {"kind": "ssh", "nodes": "many"}},
    ],
)
def test_a_plan_of_another_version(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "plan.json"
    write_record(path, GOOD)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RunDirError, match="was not written by this version of milabench"):
        read_record(path, RunPlan)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"text"', "null"])
def test_a_damaged_plan(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(RunDirError, match="was not written by this version of milabench"):
        read_record(path, RunPlan)


def test_no_plan_and_no_place_for_one(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match=r"cannot read .*plan\.json: No such file"):
        read_record(tmp_path / "plan.json", RunPlan)
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match=r"cannot write .*plan\.json: "):
        write_record(tmp_path / "file" / "plan.json", GOOD)
