"""For every test of this folder: no process of a launch may outlive it."""

import os
from collections.abc import Iterator

import pytest

from milabench_ddp.launch import reap
from milabench_ddp.launch.stop_requests import StopRequests


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = reap.family(os.getpid())
    yield
    assert reap.family(os.getpid()) - before == set()


@pytest.fixture
def requests() -> Iterator[StopRequests]:
    it = StopRequests()
    yield it
    it.close()
