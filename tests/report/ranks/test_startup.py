from pathlib import Path

import pytest

from milabench_ddp.report.ranks.startup import GROUP, WAITING, Startup, late_ranks, startups
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record


def launch(ranks: int, late: dict[int, float], part: str = "import") -> list[Startup]:
    """Each rank takes 4 s until it meets the others; ``late`` ones take longer in a part."""
    record = Record(Path("b.data"), {"tag": ["b", "0"], "plan": {"method": "njobs", "n": 1}})
    before = {}
    for rank in range(ranks):
        parts = {"spawn": 1.0, "import": 2.5 + 0.01 * rank, "device": 0.25, "rendezvous": 0.25}
        parts[part] += late.get(rank, 0.0)
        before[rank] = parts
    end = max(sum(parts.values()) for parts in before.values()) + 0.5
    for rank, parts in before.items():
        group = {GROUP: end - sum(parts.values()), "build": 1.0, "first_step": 2.0}
        record.ranks[rank] = Rank(startup={**parts, **group})
    return startups(record)


@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("part", ["spawn", "import", "device", "rendezvous"])
def test_the_late_rank_is_named(late: int, part: str) -> None:
    ranks = launch(8, {late: 3.0}, part)
    found = late_ranks(ranks)
    assert found is not None
    assert [id.rank for id in found.ids] == [late]
    assert found.seconds == pytest.approx(3.0, abs=0.05)
    waits = [rank.parts[WAITING] for rank in ranks]
    assert waits[late] == 0
    assert min(waits[:late] + waits[late + 1 :]) > 2.9
    assert {round(rank.seconds, 6) for rank in ranks} == {round(ranks[0].seconds, 6)}


def test_all_ranks_of_one_of_two_nodes() -> None:
    found = late_ranks(launch(8, dict.fromkeys(range(4, 8), 3.0)))
    assert found is not None
    assert [id.rank for id in found.ids] == [4, 5, 6, 7]


@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_nobody_is_late(ranks: int) -> None:
    assert late_ranks(launch(ranks, {})) is None
    assert late_ranks(launch(ranks, {1: 1.5})) is None


def test_ranks_that_come_at_any_time() -> None:
    """Where imports take from 0 to 10 s more, none stands out."""
    assert late_ranks(launch(8, {rank: 10 * rank / 7 for rank in range(8)})) is None


def test_one_rank_waits_for_none() -> None:
    (alone,) = launch(1, {})
    assert WAITING not in alone.parts
    assert late_ranks([alone]) is None
    assert startups(Record(Path("b.data"), ranks={0: Rank()})) == []
