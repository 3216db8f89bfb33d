import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.report.findings import checks_of, findings_of
from milabench_ddp.report.findings.finder import Measurements
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.ranks.rank_summary import RankId, RankSummary, summarize_ranks
from milabench_ddp.report.ranks.stragglers import (
    all_stragglers,
    can_be_judged,
    slowest_part,
    stragglers,
)
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record
from tests.support.trained_ranks import SHARES, Job
from tests.support.trained_ranks import trained as job_of

if TYPE_CHECKING:
    from milabench_ddp.numerics import Floats


def member(rank: int, forward: float, data: float = 1.0, node: str = "") -> RankSummary:
    own = {"forward": forward, "data": data}
    place = RankId(node, 0, rank, f"rank {rank}")
    levels = {"whole": forward + data, **own}
    blocks = {("run", "R0"): {part: [level] * 20 for part, level in levels.items()}}
    return RankSummary(place, 100, 200.0, 210.0, data, {}, {}, own, 0.01, NAN, NAN, blocks)


def job(*forwards: float) -> list[RankSummary]:
    return [
        member(k, forward, node="node 1" if k > 3 else "node 0")
        for k, forward in enumerate(forwards)
    ]


def sentences(ranks: list[RankSummary]) -> list[str]:
    row = replace(Row.unmeasured("b", 0, 1.0, {}), ranks=tuple(ranks))
    measured = Measurements(False, (), (row,))
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
    """Two of its three ranks are a slow node; rank 18 is as fast as the others."""
    ranks = job(*[49.0 + 0.01 * (k % 3) for k in range(16)], 55.0, 54.0, 49.0)
    ranks[-3:] = [replace(m, id=RankId("node 9", 0, k, f"rank {k}"))
                  for k, m in enumerate(ranks[-3:], 16)]  # fmt: skip
    (said,) = sentences(ranks)
    assert said.startswith("b: node 9 is 11.0% slower")
    assert "with 2 of its 3 ranks" in said


def test_slow_ranks_of_several_nodes() -> None:
    ranks = job(*[54.0 - 0.1 * k if k in (2, 5) else 49.0 for k in range(16)])
    (said,) = sentences(ranks)
    assert said.startswith("b: rank 2 (node 0) is ")
    assert said.endswith("they wait for it, and for rank 5 (node 1)")


def test_ranks_that_are_slow_in_different_parts_have_a_finding_each() -> None:
    ranks = [member(k, 49.0, data=11.0 if k == 2 else 1.0) for k in range(8)]
    ranks[5] = member(5, 54.0)
    data, forward = sentences(ranks)
    assert data.startswith("b: rank 2 is 20.0% slower")
    assert "mostly data" in data
    assert forward.startswith("b: rank 5 is 10.0% slower")
    assert "mostly forward" in forward


@pytest.mark.parametrize(
    "ranks",
    [
        job(49.0, 49.1, 48.9, 50.0),  # less than 3 %
        job(49.0, 44.0, 54.0, 47.0, 51.0, 56.0),  # spread like the others
        [replace(m, median=9000.0) for m in job(49.0, 49.1, 48.9, 54.0)],  # does not matter
        [replace(m, blocks={}) for m in job(49.0, 49.1, 48.9, 54.0)],  # not known
    ],
)
def test_what_is_no_straggler(ranks: list[RankSummary]) -> None:
    assert sentences(ranks) == []


@given(st.lists(st.floats(1, 100), max_size=12), st.sampled_from([0.25, 8.0]))
def test_units_do_not_matter(forwards: list[float], scale: float) -> None:
    """If all times are longer by one factor, the same ranks are slow, the slowest first."""
    ranks = job(*forwards)
    scaled = [
        replace(member(m.id.rank, forward * scale, scale, m.id.node), median=m.median * scale)
        for m, forward in zip(ranks, forwards, strict=True)
    ]
    found, _ = stragglers(ranks)
    assert [m.local_ms for m in found] == sorted((m.local_ms for m in found), reverse=True)
    assert len(found) < max(len(ranks), 1)
    assert [m.id for m in found] == [m.id for m in stragglers(scaled)[0]]


def trained(
    own: "Floats", launches: int = 1, stalls: "Floats | None" = None
) -> tuple[RankSummary, ...]:
    """Ranks with this own work, in ms, shape (ranks, steps); equal in each of the launches."""
    processes = []
    for launch in range(launches):
        config = {"tag": ["b", f"R{launch}", "0"]}
        record = Record(Path("run/b.data"), config, facts={"model": {"mode": "ddp"}})
        for rank, times in enumerate(own):
            parts = {"forward": (times - 5).tolist(), "backward": (125 - times).tolist()}
            parts["optimizer"] = [5.0] * len(times)
            waits = [0.0] * len(times) if stalls is None else stalls[rank].tolist()
            record.ranks[rank] = Rank()
            assert record.ranks[rank].take([125.0] * len(times), waits, parts)
        processes.append((record, lambda _: 0))
    return summarize_ranks(processes)


def named(own: "Floats", **more: Any) -> set[int]:
    return {rank.id.rank for rank in stragglers(trained(own, **more))[0]}


def normal(random: np.random.Generator, ranks: int, steps: int = 100) -> "Floats":
    return 50 * (1 + 0.02 * random.normal(size=(ranks, steps)))


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("delay", [0.1, 0.5])
def test_a_delay_is_found_wherever_it_is_planted(ranks: int, delay: float) -> None:
    random = np.random.default_rng(1)
    for slow in {0, ranks // 2, ranks - 1}:
        own = normal(random, ranks)
        own[slow] *= 1 + delay
        assert named(own) == {slow}
        (first,), typical = stragglers(trained(own))
        assert first.local_ms / typical == pytest.approx(1 + delay, abs=0.02)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_bursts_of_foreign_load_name_none(ranks: int) -> None:
    """A tenth of the steps of all ranks, in bursts of 5 on random ranks, take twice as long."""
    random = np.random.default_rng(2)
    for _ in range(20):
        own = normal(random, ranks)
        for _ in range(2 * ranks):
            rank, first = random.integers(ranks), random.integers(100)
            own[rank, first : first + 5] *= 2
        assert named(own) == set()


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("part", [slice(40), slice(60, None), slice(20, 80)])
def test_load_of_one_rank_for_a_part_of_the_time_is_no_slow_rank(ranks: int, part: slice) -> None:
    """Its mean is 30 to 70 % longer than that of the others."""
    for loaded in {0, ranks // 2, ranks - 1}:
        own = normal(np.random.default_rng(3), ranks)
        own[loaded, part] *= 2
        assert named(own) == set()


@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize(("half", "when"), [(slice(50), "first"), (slice(50, None), "second")])
def test_a_rank_that_is_slow_in_a_half_is_named_with_it(ranks: int, half: slice, when: str) -> None:
    for slow in {0, ranks // 2, ranks - 1}:
        own = normal(np.random.default_rng(3), ranks)
        own[slow, half] *= 1.75
        assert named(own) == set()
        (found,) = all_stragglers(trained(own))
        assert (found.rank.id.rank, found.when) == (slow, f" in the {when} half")
        assert (found.part, found.slower) == ("forward", pytest.approx(0.75, abs=0.03))
    (said,) = sentences(list(trained(own)))
    said = re.sub(r"7\d\.\d%|\d\d\.\d+", "#", said)
    assert said == (
        f"b: rank {ranks - 1} is # slower than the median of the others in its own work in the "
        f"{when} half (# against # ms a step, mostly forward): they wait for it"
    )


def test_a_rank_that_is_slow_all_the_time_is_not_named_again_with_a_half() -> None:
    own = normal(np.random.default_rng(8), 4)
    own[1] *= 1.5
    own[3, 50:] *= 1.5
    found = [(each.rank.id.rank, each.when) for each in all_stragglers(trained(own))]
    assert found == [(1, ""), (3, " in the second half")]


@pytest.mark.parametrize("ranks", [4, 5, 8])
@pytest.mark.parametrize("delay", [0.1, 0.75])
def test_of_two_slow_ranks_both_are_found(ranks: int, delay: float) -> None:
    for seed in range(10):
        own = normal(np.random.default_rng(seed), ranks)
        own[[1, 3]] *= 1 + delay
        assert named(own) == {1, 3}
    own[[1, 3], 50:] /= 1 + delay
    found = {(each.rank.id.rank, each.when) for each in all_stragglers(trained(own))}
    assert found == {(1, " in the first half"), (3, " in the first half")}


def test_a_half_is_that_of_each_launch() -> None:
    own = normal(np.random.default_rng(9), 4)
    own[2, 50:] *= 1.75
    (found,) = all_stragglers(trained(own, launches=3))
    assert (found.rank.id.rank, found.when) == (2, " in the second half")


def test_halves_of_two_ranks_and_of_few_steps_name_none() -> None:
    own = normal(np.random.default_rng(10), 2)
    own[1, 50:] *= 1.75
    assert all_stragglers(trained(own)) == []
    own = normal(np.random.default_rng(10), 4, steps=44)
    own[2, 22:] *= 1.75
    assert all_stragglers(trained(own)) == []


def test_a_loader_that_stalls_every_fourth_step_is_found() -> None:
    own = normal(np.random.default_rng(4), 4)
    stalls = np.zeros_like(own)
    stalls[1, ::4] = 20.0
    assert named(own, stalls=stalls) == {1}


def test_a_slow_rank_is_slow_in_every_launch() -> None:
    """In one of two launches, it was the load of something else."""
    own = normal(np.random.default_rng(5), 4)
    slowed = own.copy()
    slowed[3] *= 1.2
    assert named(slowed, launches=2) == {3}
    mixed = [replace(r, blocks={("run", "R0"): r.blocks["run", "R0"],
                                ("run", "R1"): q.blocks["run", "R1"]})
             for r, q in zip(trained(own, 2), trained(slowed, 2), strict=True)]  # fmt: skip
    assert stragglers(mixed)[0] == []


def test_two_ranks_are_compared_with_each_other() -> None:
    own = normal(np.random.default_rng(6), 2)
    own[0] *= 1.2
    (said,) = sentences(list(trained(own)))
    assert re.match(r"b: rank 0 is (19|20|21)\.\d% slower than rank 1 in its own work \(", said)
    assert said.endswith("ms a step, mostly forward): rank 1 waits for it")


@pytest.mark.parametrize(
    ("ranks", "steps", "told"), [(4, 12, True), (4, 8, True), (4, 7, False), (2, 15, False)]
)
def test_few_steps_name_only_a_clear_case(ranks: int, steps: int, told: bool) -> None:
    found = []
    for seed in range(20):
        own = normal(np.random.default_rng(seed), ranks, steps)
        assert can_be_judged(trained(own)) is told
        assert named(own) == set()
        own[1] *= 1.75
        found.append(named(own))
    if told:
        assert found.count({1}) >= 15
    assert all(each in ({1}, set()) if told else not each for each in found)


def test_too_few_steps_are_said() -> None:
    own = normal(np.random.default_rng(7), 4, steps=7)
    row = replace(Row.unmeasured("b", 0, 1.0, {}), ranks=tuple(trained(own)))
    checks = {each.finding: each for each in checks_of(Measurements(False, (), (row,)), ())}
    assert checks["slow_rank"].not_compared == {"fewer than 8 steps": ("b",)}


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_of_few_steps_of_ranks_that_are_alike_none_is_named(correlation: float) -> None:
    random = np.random.default_rng(11)
    jobs = 0.05 * random.normal(size=(200, 4, 12))
    for step in range(1, 12):
        own = math.sqrt(1 - correlation**2) * jobs[..., step]
        jobs[..., step] = correlation * jobs[..., step - 1] + own
    assert sum(bool(named(50 * (1 + job))) for job in jobs) <= 4


def named_with_part(*launches: Job) -> list[tuple[int, str]]:
    """The slow ranks of launches of a job, each with the part that the report says."""
    processes = []
    for number, job in enumerate(launches):
        config = {"tag": ["b", f"R{number}", "0"]}
        record = Record(Path("run/b.data"), config, facts={"model": {"mode": "ddp"}})
        for rank in range(len(job.step)):
            parts = {name: ms[rank].tolist() for name, ms in job.parts.items()}
            waits = parts.pop("data")
            record.ranks[rank] = Rank()
            assert record.ranks[rank].take(job.step[rank].tolist(), waits, parts)
        processes.append((record, lambda _: 0))
    ranks = summarize_ranks(processes)
    return [(rank.id.rank, slowest_part(rank, ranks)) for rank in stragglers(ranks)[0]]


@pytest.mark.parametrize("part", SHARES)
def test_a_delay_of_a_twentieth_of_the_step_is_found_with_its_part(part: str) -> None:
    """5 ms of 100, where each part varies by 8 % from step to step: in at least 19 of 20."""
    factor = 1 + 5.0 / (80 * SHARES[part])
    found = 0
    for seed in range(20):
        slow = (0, 2, 3)[seed % 3]
        job = job_of(noise=0.08, slow={slow: {part: factor}}, seed=seed)
        found += named_with_part(job) == [(slow, part)]
    assert found >= 19


def test_more_launches_show_more() -> None:
    """5 % slower in all parts, of which each varies by 8 %: of one launch, in a third."""
    slower = dict.fromkeys(SHARES, 1.05)
    found = 0
    for seed in range(10):
        slow = (0, 2, 3)[seed % 3]
        jobs = [job_of(noise=0.08, slow={slow: slower}, seed=100 * seed + k) for k in range(5)]
        found += [rank for rank, _ in named_with_part(*jobs)] == [slow]
    assert found >= 9


def test_clean_jobs_name_none() -> None:
    for seed in range(50):
        assert named_with_part(job_of(noise=0.08, seed=seed)) == []


def test_time_that_only_moves_from_one_part_to_another_holds_nobody_up() -> None:
    """4 ms of its forward pass are counted as backward, of 80 ms of own work."""
    moved = {2: {"forward": 1 - 4 / 24, "backward": 1 + 4 / 40}}
    assert named_with_part(job_of(slow=moved)) == []


def test_two_ranks_slow_in_different_parts_are_both_found() -> None:
    job = job_of(ranks=8, noise=0.03, slow={1: {"backward": 1.2}, 6: {"data": 3.0}})
    assert sorted(named_with_part(job)) == [(1, "backward"), (6, "data")]
