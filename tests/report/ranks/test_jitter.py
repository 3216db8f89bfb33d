"""Pauses of ranks that train together, whose period, size, part and ranks are planted."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from milabench_ddp.report.ranks.jitter import Jitter, Launches, jitters
from milabench_ddp.report.ranks.rank_launch import RankLaunch
from milabench_ddp.report.ranks.rank_summary import RankId
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record
from tests.support.trained_ranks import SHARES, trained

COUNT = 400  # steps


def launches(parts: dict[str, NDArray[np.float64]], *, mode: str = "ddp") -> Launches:
    """Those of the ranks of a job; a step is as long as the own work of the slowest, and 20 ms."""
    own = sum(ms for name, ms in parts.items() if name in SHARES)
    exposed = own.max(axis=0) - own + 20
    record = Record(Path("run/b.data"), facts={"model": {"mode": mode}})
    found = []
    for rank in range(len(own)):
        of_rank = {name: ms[rank] for name, ms in parts.items()}
        if mode == "ddp":
            of_rank["exposed_communication"] = exposed[rank]
        launch = RankLaunch(record, Rank(), own[rank] + exposed[rank], of_rank)
        found.append((RankId("", 0, rank, f"rank {rank}"), launch))
    return found


def planted(
    part: str, steps: dict[int, Iterable[int]], count: int = COUNT, noise: float = 0.01
) -> dict[str, NDArray[np.float64]]:
    """The parts of the steps of four ranks, with 20 ms more in a part of some of them."""
    parts = {
        name: ms for name, ms in trained(count=count, noise=noise).parts.items() if name in SHARES
    }
    for rank, at in steps.items():
        parts[part][rank, list(at)] += 20
    return parts


def numbers(found: Jitter) -> list[int]:
    return [id.rank for id in found.ids]


@pytest.mark.parametrize("part", SHARES)
def test_staggered_pauses(part: str) -> None:
    steps = {rank: range(7 + 12 * rank, COUNT, 50) for rank in range(4)}
    (found,) = jitters(launches(planted(part, steps)))
    assert (found.steps, found.spread, found.by_time) == (50, 0, False)
    assert found.ms == pytest.approx(20, rel=0.05)
    assert found.parts == (part,)
    assert numbers(found) == [0, 1, 2, 3]
    assert found.share == pytest.approx(4 * 20 / 50 / 102, rel=0.1)
    assert found.seconds == pytest.approx(50 * 0.102, rel=0.01)


@pytest.mark.parametrize("rank", [0, 3])
def test_one_rank(rank: int) -> None:
    (found,) = jitters(launches(planted("backward", {rank: range(3, COUNT, 50)})))
    assert numbers(found) == [rank]
    assert found.count == 8


def test_all_ranks_at_once() -> None:
    steps = {rank: range(3, COUNT, 50) for rank in range(4)}
    (found,) = jitters(launches(planted("host", steps)))
    assert found.share == pytest.approx(20 / 50 / 102, rel=0.1)


def test_two_periods() -> None:
    steps = {0: range(3, COUNT, 40), 2: range(5, COUNT, 27)}
    found = jitters(launches(planted("forward", steps)))
    assert sorted((one.steps, numbers(one)) for one in found) == [(27, [2]), (40, [0])]


@pytest.mark.parametrize("period_s", [1.73, 4.0])
def test_pauses_by_time_while_steps_become_shorter(period_s: float) -> None:
    """As of a timer of the host: it lands in any part, and steps take from 102 to 68 ms."""
    parts = planted("host", {}, count=1200)
    faster = np.linspace(1, 0.6, 1200)
    parts = {name: ms * faster for name, ms in parts.items()}
    ends = np.cumsum(sum(parts.values())[1] + 21)
    random = np.random.default_rng(1)
    names = list(parts)
    for at in np.searchsorted(ends, np.arange(1.0, ends[-1] / 1e3, period_s) * 1e3):
        parts[names[random.integers(len(names))]][1, at] += 20
    found = jitters(launches(parts))[0]
    assert numbers(found) == [1]
    assert found.seconds == pytest.approx(period_s, rel=0.03)


def test_waits_for_data_hide_no_pause_elsewhere() -> None:
    parts = planted("forward", {2: range(3, COUNT, 50)})
    parts["data"] += 40 * np.random.default_rng(1).random((4, COUNT)) ** 2
    (found,) = jitters(launches(parts))
    assert (found.steps, numbers(found), found.parts) == (50, [2], ("forward",))


def test_where_own_work_is_not_known_no_rank_is_named() -> None:
    steps = {rank: range(7 + 12 * rank, COUNT, 50) for rank in range(4)}
    found = jitters(launches(planted("forward", {1: steps[1]}), mode="pipeline"))
    assert [(one.steps, one.ids, one.parts) for one in found] == [(50, (), ())]


@pytest.mark.parametrize("count", [1, 2, 60, 1000])
def test_steps_without_pauses(count: int) -> None:
    assert jitters(launches(planted("host", {}, count))) == []
    assert jitters([]) == []
