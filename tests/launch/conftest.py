"""For every test of this folder: no process of a launch may outlive it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.launch import reap
from milabench_ddp.launch.stop_requests import StopRequests


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert {pid for pid in reap.descendants(os.getpid()) if _is_marked(pid)} == set()


def _is_marked(pid: int) -> bool:
    """Whether a launch started it; pytest's own children have no mark."""
    try:
        return reap.MARK.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


@pytest.fixture
def requests() -> Iterator[StopRequests]:
    it = StopRequests()
    yield it
    it.close()
