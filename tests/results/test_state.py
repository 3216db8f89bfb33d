import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.rates import RateCounts
from milabench_ddp.results.state import (
    BenchmarkState,
    JobState,
    LaunchState,
    ProcessState,
    RunHeader,
    overall,
    own_id,
)

PROCESS = ProcessState("b.D0", 7, 1, Outcome.FAILED, "exit status 1", 1.0, 2.0, RateCounts(3))
LAUNCH = LaunchState(None, Outcome.FAILED, "exit status 1", (PROCESS,), ("n0",))


@pytest.mark.parametrize("status", ["ok", "failed", "timeout", "skipped"])
def test_a_result_is_left_alone(status: str) -> None:
    assert BenchmarkState("b", Status(status)).is_final
    assert not BenchmarkState("b", Status(status), interrupted=True).is_final


@pytest.mark.parametrize("status", ["waiting", "running", "cancelled", "lost"])
def test_what_has_no_result_runs_again(status: str) -> None:
    assert not BenchmarkState("b", Status(status)).is_final


def test_the_verdict_is_the_outcome_with_its_reason() -> None:
    verdict = Verdict(Outcome.FAILED, "exit status 1")
    assert PROCESS.verdict == LAUNCH.verdict == verdict


def test_a_state_comes_back_from_its_file() -> None:
    state = BenchmarkState("b", Status.FAILED, "exit status 1", 1.0, 2.0, [LAUNCH], ("n0",))
    assert decode(encode(state), BenchmarkState) == state


def test_a_header_comes_back_from_its_file() -> None:
    header = RunHeader(
        "mine",
        "0.1",
        1.0,
        ["milabench", "run"],
        "small",
        "x.yaml",
        {"arch": "cpu"},
        {"b": {"weight": 1.0}},
        [SkippedBenchmark("s", "disabled")],
        [JobState("all", 2, ("b",), "12", "COMPLETED")],
        Outcome.OK,
        2.0,
    )
    assert decode(encode(header), RunHeader) == header


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ([Status.OK, Status.OK], Outcome.OK),
        ([Status.OK, Status.LOST], Outcome.FAILED),
        ([Status.TIMEOUT, Status.CANCELLED], Outcome.CANCELLED),
        ([Status.OK, Status.SKIPPED], Outcome.OK),
        ([Status.SKIPPED, Status.FAILED], Outcome.FAILED),
        ([Status.SKIPPED, Status.SKIPPED], Outcome.SKIPPED),
        ([], Outcome.OK),
    ],
)
def test_the_outcome_of_a_run(statuses: list[Status], outcome: Outcome) -> None:
    assert overall(statuses) is outcome


@pytest.mark.parametrize(
    ("names", "id"),
    [
        ({}, ""),
        ({"JOB_ID": "7"}, "7"),
        ({"JOB_ID": "9", "ARRAY_JOB_ID": "7", "ARRAY_TASK_ID": "2"}, "7_2"),
    ],
)
def test_the_own_job(monkeypatch: pytest.MonkeyPatch, names: dict[str, str], id: str) -> None:
    for name in ("JOB_ID", "ARRAY_JOB_ID", "ARRAY_TASK_ID"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    for name, value in names.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert own_id() == id
