from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.findings import Measurements, findings_of
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.ranks import RankId, RankSummary
from milabench_ddp.report.stragglers import stragglers


def member(rank: int, forward: float, data: float = 1.0, node: str = "") -> RankSummary:
    own = {"forward": forward, "data": data}
    place = RankId(node, 0, rank, f"rank {rank}")
    return RankSummary(place, 100, 200.0, 210.0, data, {}, {}, own, 0.01, NAN, NAN)


def job(*forwards: float) -> list[RankSummary]:
    return [
        member(k, forward, node="node 1" if k > 3 else "node 0")
        for k, forward in enumerate(forwards)
    ]


def sentences(ranks: list[RankSummary]) -> list[str]:
    row = replace(Row.unmeasured("b", 0, 1.0, {}), ranks=tuple(ranks))
    measured = Measurements(False, (), (), (row,))
    return [found.sentence for found in findings_of(measured)]


def test_a_rank_that_holds_the_others_up_is_named() -> None:
    ranks = job(49.0, 49.1, 48.9, 54.0, 49.0, 49.05, 48.95, 49.0)
    assert sentences(ranks) == [
        "b: rank 3 (node 0) is 10.0% slower than the median of the others in its own work "
        "(55 against 50 ms a step, mostly forward): they wait for it"
    ]


def test_the_part_says_what_to_look_at() -> None:
    ranks = [member(k, 49.0, data=21.0 if k == 2 else 1.0) for k in range(8)]
    (said,) = sentences(ranks)
    assert "mostly data" in said


def test_ranks_of_one_node() -> None:
    ranks = job(*[49.0 + 0.01 * (k % 3) for k in range(16)], 55.0, 54.0)
    ranks[-2:] = [replace(m, id=RankId("node 9", 0, k, f"rank {k}"))
                  for k, m in enumerate(ranks[-2:], 16)]  # fmt: skip
    (said,) = sentences(ranks)
    assert said.startswith("b: rank 16 (node 9) is 12.0% slower")
    assert said.endswith("they wait for it; and for 1 more, all of node 9")


@pytest.mark.parametrize(
    "ranks",
    [
        job(49.0, 60.0),  # of two, either could be the slow one
        job(49.0, 49.1, 48.9, 50.0),  # less than 3 %
        job(49.0, 44.0, 54.0, 47.0, 51.0, 56.0),  # spread like the others
        [replace(m, local_error=2.0) for m in job(49.0, 49.1, 48.9, 54.0)],  # not sure
        [replace(m, median=9000.0) for m in job(49.0, 49.1, 48.9, 54.0)],  # does not matter
        [replace(m, local={}) for m in job(49.0, 49.1, 48.9, 54.0)],  # not known
    ],
)
def test_what_is_no_straggler(ranks: list[RankSummary]) -> None:
    assert sentences(ranks) == []


@given(st.lists(st.floats(1, 100), max_size=12), st.sampled_from([0.25, 8.0]))
def test_units_do_not_matter(forwards: list[float], scale: float) -> None:
    """If all times are longer by one factor, the same ranks are slow, the slowest first."""
    ranks = job(*forwards)
    scaled = [
        replace(m, median=m.median * scale, local_error=m.local_error * scale,
                local={part: ms * scale for part, ms in m.local.items()})
        for m in ranks
    ]  # fmt: skip
    found, _ = stragglers(ranks)
    assert [m.local_ms for m in found] == sorted((m.local_ms for m in found), reverse=True)
    assert len(found) < max(len(ranks), 1)
    assert [m.id for m in found] == [m.id for m in stragglers(scaled)[0]]
