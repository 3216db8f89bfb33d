import math

import pytest
from msgspec.structs import replace

from milabench_ddp.report.finding import Finding
from milabench_ddp.report.model import Row
from milabench_ddp.report.page.courses import choose, is_named, named_ranks
from milabench_ddp.report.ranks.rank_summary import RankId, RankSummary

NAN = math.nan


def summary(id: RankId) -> RankSummary:
    return RankSummary(id, 1, 1.0, 1.0, 0.0, {}, {}, {}, NAN, NAN, NAN)


def row(ids: list[RankId]) -> Row:
    made = Row.unmeasured("b", 0, 1.0, {})
    return replace(made, ranks=tuple(map(summary, ids)))


ONE_NODE = [RankId("", 0, number, f"rank {number}") for number in range(16)]
TWO_NODES = [RankId(f"node-{n // 8}", 0, n, f"rank {n}") for n in range(16)]
JOBS = [RankId("", job, number, f"job {job} rank {number}") for job in (0, 1) for number in (0, 1)]


@pytest.mark.parametrize("ids", [ONE_NODE, TWO_NODES, JOBS])
@pytest.mark.parametrize("places", [[0], [3], [-1], [0, 1, 2], [0, 2, 3], [1, -1]])
def test_a_finding_names_its_ranks(ids: list[RankId], places: list[int]) -> None:
    wanted = {ids[place] for place in places}
    told = [id.label for id in wanted]
    assert named_ranks(row(ids), [Finding("", evidence={"ranks": told})]) == wanted
    assert named_ranks(row(ids), [Finding("", evidence={"ranks": dict.fromkeys(told)})]) == wanted
    for id in wanted:
        assert id in named_ranks(row(ids), [Finding("", place=id.label)])


@pytest.mark.parametrize("place", ["", "node-1", "GPU 3", "frank 3", "rank", "ranks 99", "gpt.0"])
def test_a_place_that_names_no_rank(place: str) -> None:
    assert named_ranks(row(ONE_NODE), [Finding("", place=place)]) == set()


@pytest.mark.parametrize(
    ("label", "place", "named"),
    [
        ("GPU 1", "GPU 1", True),
        ("GPU 1", "GPU 0, GPU 1 and 2 more", True),
        ("GPU 1", "GPU 12", False),
        ("GPU 1", "GPU 1 of node-2", False),
        ("GPU 1 of node-2", "GPU 1 of node-2, GPU 3 of node-2", True),
        ("gpt.D0", "gpt.D0", True),
        ("gpt.D0", "big-gpt.D01", False),
        ("gpt.D0", "gpt.D0.node-1", False),
    ],
)
def test_a_label_is_named_as_a_whole(label: str, place: str, named: bool) -> None:
    assert is_named(label, f"rank 3\n{place}\nrank 5") is named


def test_few_are_all_chosen_of_many_the_ends() -> None:
    words = ("slowest", "median", "fastest")
    few = choose([3.0, 1.0, 2.0], lambda value: value, words)
    assert few == [(3.0, ""), (1.0, ""), (2.0, "")]
    many = [float(7 * k % 64) for k in range(64)] + [NAN]
    named = [value for value in many if value in (5.0, 63.0)]
    found = dict(choose(many, lambda value: value, words, named))
    assert found == {0.0: " (slowest)", 32.0: " (median)", 63.0: " (fastest)", 5.0: " (named)"}
    assert choose([NAN] * 5, lambda value: value, words) == []
