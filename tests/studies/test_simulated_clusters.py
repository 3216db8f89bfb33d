"""The made-up clusters of ``tests/studies/simulated_clusters.py``: few and small."""

import numpy as np
import pytest

from tests.studies import simulated_clusters
from tests.studies.simulated_clusters import KINDS, SIZES, Cluster, Kind, studied


@pytest.mark.parametrize("name", KINDS)
def test_the_edge_of_a_kind_is_where_its_slowest_devices_are(name: str) -> None:
    kind = KINDS[name]
    found = kind.draw(np.random.default_rng(1), 10_000)
    assert np.quantile(found, 0.002) > kind.edge - 1e-9  # bins have an edge
    assert found.min() < kind.edge + 0.02
    assert np.ptp(np.quantile(found, [0.005, 0.995])) <= 0.055  # some 5 % in all


@pytest.mark.parametrize("name", KINDS)
def test_healthy_clusters_pass_and_planted_defects_are_found(name: str) -> None:
    told = studied(KINDS[name], (1, 4, 16), 30, seed=1)
    assert told["alarms"] <= 1 / 30
    assert told["5 % lower"] >= 29 / 30
    assert told["promised"] >= 29 / 30
    assert told["node"] >= 19 / 20
    assert told["third"] > 0.98
    assert told["false"] <= 1 / 20


def test_a_study_sees_false_alarms_and_what_is_missed() -> None:
    wild = Kind(lambda draw, n: -0.2 * (draw.random(n) < 0.1), edge=0.03)
    told = studied(wild, (4,), 10, seed=1)
    assert told["alarms"] == 1
    assert told["5 % lower"] == 0  # it is within what is no defect


@pytest.mark.slow
def test_at_most_one_of_a_hundred_healthy_clusters_has_an_alarm() -> None:
    told = [studied(kind, SIZES, 36, seed=3) for kind in KINDS.values()]
    mean = {name: np.mean([each[name] for each in told]) for name in told[0]}
    assert mean["alarms"] <= 0.01
    assert mean["5 % lower"] >= 0.99
    assert mean["promised"] >= 0.99
    assert mean["node"] >= 0.99
    assert mean["third"] >= 0.98


def test_nodes_are_compared_from_three_on() -> None:
    kind = KINDS["hardly any"]
    assert Cluster(kind, 2, np.random.default_rng(1)).keeps_promise_of_nodes() is None
    assert Cluster(kind, 3, np.random.default_rng(1)).keeps_promise_of_nodes() is True
    assert simulated_clusters.DEVICES == 8


def test_what_is_slow_by_chance_in_one_launch_is_not_found_by_three() -> None:
    one, three = simulated_clusters.of_few(5, 0.003, 0.03, clusters=60, seed=1)
    assert one > 0.2
    assert three <= 3 / 60


def test_more_launches_do_not_hide_what_stays() -> None:
    one, three = simulated_clusters.of_few(5, 0.03, 0.003, clusters=60, seed=1)
    assert three > one / 2
