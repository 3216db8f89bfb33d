from pathlib import Path

import pytest

from milabench_ddp.codec import read_record, write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.config.schema import Benchmark, SkippedBenchmark, Suite
from milabench_ddp.dispatch.run_context import (
    RunContext,
    RunPlan,
    create_run,
    other_sides,
    resume_run,
)
from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome, Status
from milabench_ddp.results.lock import alive
from milabench_ddp.results.read_state import read_benchmark, read_header
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, LaunchState
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.run_contexts import context

SKIPPED = SkippedBenchmark("c", "it needs 2 GPUs")


def ended(run: RunDir, name: str, status: str, **more: object) -> None:
    state = BenchmarkState(name, Status(status), started=1.0, ended=2.0, **more)  # type: ignore[arg-type]
    write_record(run.state_json(name), state)


def names(benchmarks: tuple[Benchmark, ...]) -> list[str]:
    return [each.name for each in benchmarks]


@pytest.fixture
def made(tmp_path: Path) -> RunContext:
    """A run of five benchmarks that was cut off."""
    it = context(tmp_path, *(benchmark(name) for name in "abcde"))
    ended(it.run, "a", "ok")
    ended(it.run, "b", "failed")
    ended(it.run, "c", "cancelled", interrupted=True)
    write_record(it.run.state_json("d"), BenchmarkState("d", Status.RUNNING, started=1.0))
    return it


def test_a_new_run_has_its_header_and_its_plan(tmp_path: Path) -> None:
    parts = (benchmark("a", record={"max_duration": 5}), benchmark("b"))
    suite = Suite(tmp_path / "c.yaml", "a100", parts, (SKIPPED,))
    todo = plan(*parts)
    found = create_run(tmp_path, "mine", suite, todo, {"command": ["milabench", "run"], "x": 1})
    assert found.run.path == tmp_path / "runs" / "mine"
    assert (found.benchmarks, found.is_resumed, found.detach) == (parts, False, False)
    header = read_header(found.run)
    assert header == found.header
    assert (header.name, header.preset, header.command) == ("mine", "a100", ["milabench", "run"])
    assert header.suite == {"a": {"max_duration": 5}, "b": {}}
    assert (header.skipped, header.outcome, header.ended) == ([SKIPPED], None, None)
    assert header.machine == {"command": ["milabench", "run"], "x": 1}
    assert read_record(found.run.plan_json, RunPlan) == todo


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    suite = Suite(tmp_path / "c.yaml", "a100", (), ())
    machine = {"command": ["milabench"]}
    create_run(tmp_path, "mine", suite, plan(), machine).close()
    with pytest.raises(RunDirError, match="exists already"):
        create_run(tmp_path, "mine", suite, plan(), machine)


def test_what_has_a_result_is_left_alone(made: RunContext) -> None:
    found = resume_run(made.run, {})
    assert names(found.benchmarks) == ["c", "d", "e"]
    assert found.is_resumed
    assert (found.header.outcome, found.plan) == (None, made.plan)


def test_reset_lets_what_is_missing_wait_again(made: RunContext) -> None:
    found = resume_run(made.run, {})
    earlier = found.reset()
    assert [(state.name, str(state.status)) for state in earlier] == [
        ("c", "cancelled"),
        ("d", "lost"),
    ]
    assert read_benchmark(made.run, "c") == BenchmarkState("c")
    assert read_benchmark(made.run, "d") == BenchmarkState("d")
    assert read_benchmark(made.run, "e") is None  # it has no folder yet


def test_a_damaged_state_is_as_good_as_none(made: RunContext) -> None:
    made.run.state_json("a").write_text("{")
    assert names(resume_run(made.run, {}).benchmarks) == ["a", "c", "d", "e"]


def test_settings_take_the_place_of_those_of_the_plan(tmp_path: Path) -> None:
    profile = RunnerProfile(kind="slurm", timeout=30, account="mine")
    it = context(tmp_path, benchmark("a"), runner=profile)
    found = resume_run(it.run, {"timeout": 90, "partition": "long"}).plan.runner
    assert found is not None
    assert (found.timeout, found.partition, found.account) == (90, "long", "mine")


def test_a_run_that_goes_on_is_not_resumed(made: RunContext) -> None:
    why = "has not ended.*: `milabench watch .*` follows it"
    for folder in (made.run.path, made.run.benchmark("d")):  # its command; a job of a cluster
        with alive(folder), pytest.raises(RunDirError, match=why):
            resume_run(made.run, {})


def test_of_two_that_resume_at_once_one_is_refused_until_the_other_has_ended(
    made: RunContext,
) -> None:
    first = resume_run(made.run, {})
    with pytest.raises(RunDirError, match="has not ended"):
        resume_run(made.run, {})
    first.close()
    assert names(resume_run(made.run, {}).benchmarks) == names(first.benchmarks)


def test_a_run_is_locked_before_it_can_be_resumed(tmp_path: Path) -> None:
    machine = {"command": ["milabench"]}
    it = create_run(tmp_path, "mine", Suite(tmp_path / "c.yaml", "", (), ()), plan(), machine)
    with pytest.raises(RunDirError, match="has not ended"):
        resume_run(it.run, {})


def test_there_is_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="--resume: no run folder"):
        resume_run(RunDir(tmp_path / "gone"), {})


@pytest.mark.parametrize(("last", "outcome"), [("ok", Outcome.OK), ("failed", Outcome.FAILED)])
def test_where_nothing_is_missing_the_end_is_made_up_for(
    tmp_path: Path, last: str, outcome: Outcome
) -> None:
    it = context(tmp_path, benchmark("a"), benchmark("b"))
    ended(it.run, "a", "ok")
    ended(it.run, "b", last)
    assert resume_run(it.run, {}).benchmarks == ()
    header = read_header(it.run)
    assert header.outcome is outcome
    assert header.ended is not None


def test_an_end_that_was_written_stays_as_it_is(tmp_path: Path) -> None:
    it = context(tmp_path, benchmark("a"))
    ended(it.run, "a", "ok")
    it.header.outcome, it.header.ended = Outcome.OK, 2.0
    it.save()
    resume_run(it.run, {})
    assert read_header(it.run).ended == 2.0


def test_a_run_ends_over_all_its_benchmarks_unless_it_was_cancelled(made: RunContext) -> None:
    for name in "cde":
        ended(made.run, name, "ok")
    assert made.finish(Outcome.OK) is Outcome.FAILED  # b had failed before it was resumed
    assert read_header(made.run).outcome is Outcome.FAILED
    assert made.finish(Outcome.CANCELLED) is Outcome.CANCELLED
    assert read_header(made.run).outcome is Outcome.CANCELLED


def test_of_two_runs_that_take_turns_what_one_lacks_runs_again_in_pairs(tmp_path: Path) -> None:
    """A launch whose counterpart is made much later is no pair with it."""

    def launch(repeat: int, outcome: Outcome = Outcome.OK) -> LaunchState:
        return LaunchState(repeat, outcome, "")

    made = {}
    for name, parts in (("m.before", "abc"), ("m.after", "ab")):
        (tmp_path / name).mkdir()
        made[name] = context(tmp_path / name, *map(benchmark, parts), repeats=3)
        made[name].header.name = name
        made[name].header.sides = ("m.before", "m.after")
        made[name].save()
        ended(made[name].run, "a", "ok", launches=[launch(k) for k in range(3)])
    before, after = (each.run for each in made.values())
    ended(before, "b", "ok", launches=[launch(k) for k in range(3)])
    ended(before, "c", "ok", launches=[launch(k) for k in range(3)])  # on this side alone
    cut = [launch(0), launch(1, Outcome.CANCELLED)]
    ended(after, "b", "cancelled", interrupted=True, launches=cut)
    assert other_sides(before, made["m.before"].header) == [after]
    resumed = [resume_run(run, {}) for run in (before, after)]
    assert [names(each.benchmarks) for each in resumed] == [["b"], ["b"]]
    kept = []
    for each in resumed:
        each.reset()
        state = read_benchmark(each.run, "b")
        assert state is not None
        assert state.status is Status.WAITING
        kept.append([found.repeat for found in state.launches if found.verdict.is_ok])
    assert kept == [[0], [0]]
