"""Predictions of planted trainings, of which the step on any number of nodes is known."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.prediction import predict
from milabench_ddp.report.prediction.points import Points
from milabench_ddp.report.prediction.predict import predicted, predictions_of
from milabench_ddp.report.ranks.overlap import TimedBucket
from tests.support.planted_scaling import Planted, alike, heavy, normal, ring, tree

DRAWS = 60
PLANTS = {
    "some hidden": Planted(),
    "hardly any": Planted(beta=1e9, hop=1e-4),
    "communication alone": Planted(before=0.5, backward=0.5),
    "all hidden": Planted(sizes=(25e6, 25e6, 1e4), ready=(0.1, 0.2, 1.0)),
    "a tree": Planted(hop=0.5, hops=tree),
    "a ring": Planted(hop=0.5, hops=ring),
    "heavy tails": Planted(noise=heavy),
    "alike": Planted(noise=alike),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_the_step_on_more_nodes(plant: Planted) -> None:
    points = plant.points((1, 2, 4), 3, np.random.default_rng(1))
    found = predicted(points, (8, 32), DRAWS)
    for each in found.predictions:
        assert each.step_ms.value == pytest.approx(plant.truth(each.count, 4000), rel=0.02)
        assert each.step_ms.low < each.step_ms.value < each.step_ms.high
        parts = each.own_ms + each.waiting_ms + each.communication_ms
        assert parts == pytest.approx(each.step_ms.value)
        alone = found.predictions[0].step_ms.value
        assert each.efficiency.value == pytest.approx(alone / each.step_ms.value)
        assert each.throughput.value == pytest.approx(32e3 * each.count / each.step_ms.value)
    assert found.check is not None
    assert found.check.holds
    assert found.refused == ()


def test_of_one_point_with_communication_it_is_not_checked() -> None:
    plant = Planted(noise=normal)
    found = predicted(plant.points((1, 2), 3, np.random.default_rng(2)), (16,), DRAWS)
    assert found.check is None
    last = found.predictions[-1]
    assert last.step_ms.value == pytest.approx(plant.truth(16, 4000), rel=0.02)


def test_without_buckets_the_interval_is_wider() -> None:
    """More than it shows on a few nodes may be exposed on more of them."""
    chance = np.random.default_rng(3)
    points = Planted(told=False).points((1, 2, 4), 3, chance)
    found = predicted(points, (8,), DRAWS)
    with_buckets = predicted(Planted().points((1, 2, 4), 3, chance), (8,), DRAWS)
    assert "what is exposed" in found.model
    assert "8 buckets" in with_buckets.model
    width, narrow = (each.predictions[-1].step_ms.half_width for each in (found, with_buckets))
    assert width > 3 * narrow
    without_any = Planted(told=False, beta=1e9, hop=1e-4)
    found = predicted(without_any.points((1, 2, 4), 3, chance), (8,), DRAWS)
    truth = without_any.truth(8, 4000)
    assert found.predictions[-1].step_ms.value == pytest.approx(truth, rel=0.02)


def without_times(points: Points) -> Points:
    """The same, of whose buckets is not known how long they take."""
    found = []
    for point in points.points:
        launches = []
        for launch in point.launches:
            buckets = tuple(TimedBucket(each.bytes, each.ready) for each in launch.buckets)
            launches.append(replace(launch, buckets=buckets))
        found.append(replace(point, launches=tuple(launches)))
    return replace(points, points=tuple(found))


def test_all_reduces_tell_how_long_buckets_take() -> None:
    plant = Planted(beta=2e6)
    points = without_times(plant.points((1, 2, 4), 3, np.random.default_rng(8)))
    comm = []
    for count in (2, 4, 8):
        for size, ms in zip(plant.sizes, plant.messages(count), strict=True):
            comm += [(count, size, float(ms)), (count, 1e9, 1.0)]
    found = predicted(replace(points, comm=comm), (16,), DRAWS)
    assert "all-reduces of the same runs" in found.model
    assert found.predictions[-1].step_ms.value == pytest.approx(plant.truth(16, 4000), rel=0.02)
    assert found.check is not None
    assert found.check.holds
    assert "what is exposed" in predicted(points, (16,), DRAWS).model


def test_the_bandwidth_is_told() -> None:
    points = Planted(jitter=0.0, launch=0.0).points((1, 2, 4), 2, np.random.default_rng(9))
    found = predicted(points, (8,), DRAWS)
    assert found.model == (
        "communication by 8 buckets: 0.02 ms * (N - 1) + 2 (N - 1)/N * bytes / (4 GB/s)"
    )


@pytest.mark.parametrize("fade", [0.3, 0.5, 1.0])
def test_bandwidth_that_falls_with_the_nodes(fade: float) -> None:
    plant = Planted(congestion=lambda count: count**fade)
    found = predicted(plant.points((1, 2, 4), 3, np.random.default_rng(4)), (8, 32), DRAWS)
    assert found.counts == [1, 2, 4, 8, 32]
    for each in found.predictions[-2:]:
        assert each.step_ms.value == pytest.approx(plant.truth(each.count, 4000), rel=0.05)
        assert each.step_ms.low < plant.truth(each.count, 4000) < each.step_ms.high


def test_from_a_single_count_with_communication_any_growth_is_in_the_interval() -> None:
    plant = Planted(congestion=lambda count: count**0.5)
    found = predicted(plant.points((1, 2), 3, np.random.default_rng(4)), (16,), DRAWS)
    last = found.predictions[-1].step_ms
    assert last.low < Planted(beta=plant.beta * 2**-0.5).truth(16, 4000) < last.high
    assert last.low < plant.truth(16, 4000) < last.high


def test_each_bucket_is_checked_and_not_the_step_that_hides_it() -> None:
    """Of buckets that are early, or take next to nothing, the step tells nothing."""
    hidden = Planted(sizes=(1e6, 5e6, 1e4), ready=(0.1, 0.2, 1.0), hop=0.0)
    plant = replace(hidden, congestion=lambda count: 1.0 if count < 4 else 8.0)
    assert plant.truth(4, 4000) == pytest.approx(hidden.truth(4, 4000), rel=0.002)
    found = predicted(plant.points((1, 2, 4), 3, np.random.default_rng(4)), (8,), DRAWS)
    assert found.predictions == ()
    assert found.check is not None
    assert found.check.what.startswith("the all-reduce of ")
    assert found.check.error < -0.5
    assert re.search(r"all-reduce of .* on 4 nodes.*: the model does not hold$", found.refused[0])


def test_a_condition_is_told_of_what_cannot_be_seen() -> None:
    """A law that changes at 8 nodes does not show on 4."""
    plant = Planted(congestion=lambda count: 1.0 if count < 8 else 2.0)
    found = predicted(plant.points((1, 2, 4), 3, np.random.default_rng(4)), (8,), DRAWS)
    assert found.predictions[-1].step_ms.high < plant.truth(8, 4000)
    assert found.condition == "if the network beyond 4 nodes is as up to 4"


def test_nodes_that_differ_are_drawn() -> None:
    """Of 32 nodes the slowest is slower than any of the four that were measured."""
    levels = 1 + 0.03 * np.random.default_rng(3).standard_normal(32)
    plant = Planted(levels=tuple(levels))
    points = plant.points((1, 2, 4), 3, np.random.default_rng(4))
    last = predicted(points, (32,), DRAWS).predictions[-1].step_ms
    assert last.low < plant.truth(32, 4000) < last.high
    same = predicted(Planted().points((1, 2, 4), 3, np.random.default_rng(4)), (32,), DRAWS)
    low, high = same.predictions[-1].step_ms.low, same.predictions[-1].step_ms.high
    assert not low < plant.truth(32, 4000) < high
    assert last.high - last.low > 2 * (high - low)


def test_a_point_that_is_unlike_the_others_makes_the_interval_wide() -> None:
    points = Planted(before=2.0, backward=3.0).points((2, 4, 8), 1, np.random.default_rng(10))
    small, *others = points.points
    odd = replace(small, launches=(replace(small.launches[0], step=1.5 * small.step),))
    found = predicted(replace(points, points=(odd, *others)), (16,), DRAWS)
    for each, point in zip(found.predictions, (odd, *others), strict=False):
        assert each.step_ms.low < point.step < each.step_ms.high


def test_what_is_too_far_or_too_near_is_refused() -> None:
    points = Planted().points((2, 4), 3, np.random.default_rng(5))
    found = predicted(points, (1, 32, 33), DRAWS)
    assert found.counts == [2, 4, 32]
    assert found.refused == (
        "1 nodes are fewer than the fewest measured, 2",
        "33 nodes are more than 8 times the most measured, 4",
    )


def test_slower_work_beside_communication_is_not_taken_for_other_launches() -> None:
    """A single node has no communication, so its backward pass is not slowed by any."""
    slowed = replace(Planted(backward=60 * 1.2), launch=0.001)
    points = slowed.points((2, 4), 3, np.random.default_rng(6))
    alone = Planted(launch=0.001).points((1,), 3, np.random.default_rng(7))
    told = []
    for point in points.points:
        told.append(
            replace(point, launches=tuple(replace(each, slowdown=1.2) for each in point.launches))
        )
    found = predicted(replace(points, points=(*alone.points, *told)), (8,), DRAWS)
    last = found.predictions[-1]
    assert last.step_ms.value == pytest.approx(slowed.truth(8, 4000), rel=0.02)
    assert last.step_ms.half_width < 0.01 * last.step_ms.value


def test_nothing_can_be_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SelectionError, match="no benchmark trains with several ranks"):
        predictions_of([], (8,))
    monkeypatch.setattr(predict, "points_of", lambda _: [("a", "it has one point")])
    with pytest.raises(SelectionError, match="a: it has one point"):
        predictions_of([], (8,))
