"""A virtual Slurm cluster for a session, as new for each test that asks for it."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .live import SCRIPT, LiveCluster
from .slots import free_slot
from .sweeps import Sweep

NODES = 5


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of Slurm run where they are asked for, and where Slurm can be had."""
    marked = [item for item in items if item.get_closest_marker("slurm")]
    if not marked:
        return
    asked = "slurm" in config.option.markexpr
    if reason := missing() if asked else "needs root and Slurm: pytest -m slurm":
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def live_cluster() -> Iterator[LiveCluster]:
    """A cluster of five nodes, each with a network of its own where that can be had."""
    with free_slot() as slot:
        cluster = LiveCluster(slot, NODES, network=not missing("--netns"))
        cluster.up()
        try:
            yield cluster
        finally:
            cluster.down()


@pytest.fixture
def cluster(live_cluster: LiveCluster) -> LiveCluster:
    """The session's cluster, as new."""
    live_cluster.reset()
    return live_cluster


@pytest.fixture
def networked(cluster: LiveCluster) -> LiveCluster:
    """The same, where nodes have cables."""
    if not cluster.has_network:
        pytest.skip(missing("--netns"))
    return cluster


@pytest.fixture
def make_sweep(cluster: LiveCluster) -> Iterator[Callable[..., Sweep]]:
    """Makes sweeps on the cluster; the commands that they have started end with the test."""
    with closing_sweeps(cluster) as make:
        yield make


@contextmanager
def closing_sweeps(cluster: LiveCluster) -> Iterator[Callable[..., Sweep]]:
    """The same, for a block."""
    made: list[Sweep] = []

    def make(*args: Any, **profile: object) -> Sweep:
        made.append(Sweep(cluster, *args, **profile))
        return made[-1]

    try:
        yield make
    finally:
        for sweep in made:
            sweep.close()


def missing(*options: str) -> str:
    """What a cluster lacks here, as a sentence; empty where it lacks nothing."""
    done = subprocess.run([SCRIPT, "check", *options], capture_output=True, text=True)
    return done.stderr.strip().removeprefix("cluster: ") if done.returncode else ""
