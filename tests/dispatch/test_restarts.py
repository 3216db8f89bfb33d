"""A job that starts itself again; Slurm's commands are scripts of the test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.schedulers import restart, start_again
from milabench_ddp.events import Status
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState
from tests.support.launches import benchmark
from tests.support.run_contexts import context

Says = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run of benchmarks on 3, 2 and 1 nodes, of which the largest has a result."""
    sizes = {"a": 3, "b": 2, "c": 1}
    parts = [benchmark(name, num_machines=size) for name, size in sizes.items()]
    (tmp_path / "run").mkdir()
    made = context(tmp_path / "run", *parts, nodes=3, runner=RunnerProfile("slurm"))
    made.header.jobs += [JobState("x", 9, ("a",), "6"), JobState("all", 3, ("a", "b", "c"), "7")]
    made.save()
    run = made.run
    write_record(run.state_json("a"), BenchmarkState("a", Status.OK, ended=2.0))
    return run


@pytest.mark.usefixtures("job")
def test_it_asks_for_the_nodes_of_what_is_missing(says: Says, run: RunDir) -> None:
    asked = says("scontrol", "JobState=COMPLETING")
    restart(run)
    show, update = "--oneliner show job 7", "update JobId=7 NumNodes=2 NumTasks=2"
    assert asked.read_text().splitlines() == ["requeue 7", show, update]


@pytest.mark.usefixtures("job")
def test_a_signal_of_slurm_to_the_command_is_no_refusal(says: Says, run: RunDir) -> None:
    asked = says("scontrol", "JobState=COMPLETING")
    script, once = asked.with_name("scontrol"), asked.with_name("once")
    killed = f"[ $1 != update ] || [ -e '{once}' ] || {{ touch '{once}'; kill $$; }}\n"
    script.write_text(script.read_text().replace("cat <<", f"{killed}cat <<"))
    restart(run)
    assert asked.read_text().count("update JobId=7 NumNodes=2") == 2


@pytest.mark.usefixtures("job")
def test_a_folder_that_cannot_be_read_keeps_no_job_from_starting_again(
    says: Says, run: RunDir
) -> None:
    asked = says("scontrol", "JobState=COMPLETING")
    run.plan_json.write_text("{")
    restart(run)
    assert asked.read_text() == "requeue 7\n"


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    ("restarts", "asked"),
    [("0", "scontrol requeue 7"), ("2", "scontrol requeue 7"), ("3", "scancel 7")],
)
def test_a_job_that_has_started_again_too_often_is_ended(
    says: Says, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, restarts: str, asked: str
) -> None:
    given = {"scancel": says("scancel", ""), "scontrol": says("scontrol", "")}
    monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
    start_again(RunDir(tmp_path))
    found = [f"{name} {path.read_text()}" for name, path in given.items() if path.exists()]
    assert found == [f"{asked}\n"]


def test_outside_of_a_job_nothing_is_asked(
    says: Says, monkeypatch: pytest.MonkeyPatch, run: RunDir
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    given = [says("scancel", ""), says("scontrol", "")]
    start_again(run)
    assert not any(path.exists() for path in given)
