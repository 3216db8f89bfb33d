"""The ledger of a step, and what a job would take without its stragglers, of planted jobs."""

from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.report.ranks.ledger import (
    COMMUNICATION,
    JITTER,
    WAITING,
    LaunchTimes,
    launch_times,
)
from milabench_ddp.report.ranks.rank_summary import RankId
from milabench_ddp.results.records import Rank, Record
from tests.support.trained_ranks import SHARES, Job, trained


def times_of(job: Job) -> LaunchTimes:
    record = Record(Path("run/b.data"), {"tag": ["b", "0"]}, facts={"model": {"mode": "ddp"}})
    for rank in range(len(job.step)):
        parts = {name: ms[rank].tolist() for name, ms in job.parts.items()}
        waits = parts.pop("data")
        record.ranks[rank] = Rank()
        assert record.ranks[rank].take(job.step[rank].tolist(), waits, parts)
    found = launch_times(record, lambda _: 0)
    assert found is not None
    return found


def every(times: LaunchTimes, *numbers: int) -> list[RankId]:
    return [id for id in times.ids if id.rank in numbers]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("pauses", [0.0, 50.0])
def test_the_items_add_up_to_the_mean_step(noise: float, pauses: float) -> None:
    job = trained(noise=noise, pauses=pauses, slow={2: {"backward": 1.2}})
    items = times_of(job).ledger()
    assert sum(items.values()) == pytest.approx(job.step.mean(axis=1), rel=1e-5)


@pytest.mark.parametrize("slow", [0, 3])
@pytest.mark.parametrize("part", SHARES)
def test_who_waits_for_whom(slow: int, part: str) -> None:
    factor = 1 + 8.0 / (80 * SHARES[part])  # 8 ms more
    items = times_of(trained(noise=0.0, slow={slow: {part: factor}})).ledger()
    waits = [0.0 if rank == slow else 8.0 for rank in range(4)]
    assert items[WAITING] == pytest.approx(waits, abs=1e-4)
    assert items[COMMUNICATION] == pytest.approx([20.0] * 4, abs=1e-4)
    assert items[JITTER] == pytest.approx([0.0] * 4, abs=1e-4)
    expected = [80 * SHARES[part] + (8.0 if rank == slow else 0.0) for rank in range(4)]
    assert items[part] == pytest.approx(expected, abs=1e-4)


def test_pauses_that_come_and_go_are_jitter() -> None:
    items = times_of(trained(noise=0.0, pauses=30.0)).ledger()
    assert items["forward"] == pytest.approx([24.0] * 4, abs=1e-4)
    assert items[WAITING] == pytest.approx([0.0] * 4, abs=1e-4)
    assert items[JITTER] == pytest.approx([3.0] * 4, abs=1e-4)  # 30 ms in every tenth step


@pytest.mark.parametrize("factor", [1.05, 1.16, 1.40, 2.03])
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_the_step_without_a_slow_rank_is_that_of_the_job_without_it(
    factor: float, noise: float
) -> None:
    clean = trained(noise=noise, seed=2)
    times = times_of(trained(noise=noise, slow={1: dict.fromkeys(SHARES, factor)}))
    predicted = float(times.steps(every(times, 1)).mean())
    assert predicted == pytest.approx(clean.step.mean(), rel=0.01)
    assert times.steps().mean() == pytest.approx(times_of_step(times), rel=1e-3)


def times_of_step(times: LaunchTimes) -> float:
    return float(np.mean(sum(times.ledger().values())))


def test_without_several_slow_ranks() -> None:
    slow = {1: {"forward": 1.5}, 2: {"backward": 1.3}}
    times = times_of(trained(noise=0.0, slow=slow))
    assert times.steps().mean() == pytest.approx(112.0, abs=1e-3)
    assert times.steps(every(times, 1)).mean() == pytest.approx(112.0, abs=1e-3)  # both cost 12 ms
    assert times.steps(every(times, 1, 2)).mean() == pytest.approx(100.0, abs=1e-3)
    assert times.steps(times.ids).mean() == pytest.approx(112.0, abs=1e-3)  # no others to be like


@pytest.mark.parametrize(
    ("slow", "steps"), [((), 125.0), ((1,), 110.0), ((3,), 105.0), ((1, 3), 90.0)]
)
def test_ranks_that_wait_twice_in_a_step_may_wait_for_two(
    slow: tuple[int, ...], steps: float
) -> None:
    """Under FSDP, rank 1 is late by 15 ms in the forward and rank 3 by 20 in the backward pass."""
    own = {"forward": [30, 45, 30, 30], "backward": [40, 40, 40, 60], "optimizer": [10] * 4}
    record = Record(Path("run/b.data"), facts={"model": {"mode": "fsdp"}})
    for rank in range(4):
        parts = {name: [float(ms[rank])] * 20 for name, ms in own.items()}
        exposed = 125.0 - sum(ms[rank] for ms in own.values())
        record.ranks[rank] = Rank()
        every_part = {**parts, "exposed_communication": [exposed] * 20}
        assert record.ranks[rank].take([125.0] * 20, [0.0] * 20, every_part)
    times = launch_times(record, lambda _: 0)
    assert times is not None
    assert times.steps(every(times, *slow)) == pytest.approx([steps] * 19)


def test_it_is_not_known() -> None:
    job = trained(ranks=2)
    record = Record(Path("run/b.data"), facts={"model": {"mode": "ddp"}})
    parts = {name: ms[0].tolist() for name, ms in job.parts.items()}
    waits = parts.pop("data")
    record.ranks[0] = Rank()
    assert record.ranks[0].take(job.step[0].tolist(), waits, parts)
    assert launch_times(record, lambda _: 0) is None  # of one rank
    record.ranks[1] = Rank()
    assert record.ranks[1].take(job.step[1].tolist(), waits, {"body": job.step[1].tolist()})
    assert launch_times(record, lambda _: 0) is None  # what is exposed


@pytest.mark.filterwarnings("error")
def test_it_is_not_known_without_steps() -> None:
    record = Record(Path("run/b.data"), {"tag": ["b", "0"]})
    for rank in range(2):
        record.ranks[rank] = Rank()
        assert record.ranks[rank].take([], [], {"forward": [], "exposed_communication": []})
    assert launch_times(record, lambda _: 0) is None
