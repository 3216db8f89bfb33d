from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import SETUP_TIMEOUT, STEP_TIMEOUT, Group
from tests.support.programs import on_ranks


def test_a_group_of_one_is_a_process_group():
    group = Group.join("cpu")
    try:
        assert (group.rank, group.world_size, group.local_rank) == (0, 1, 0)
        assert dist.get_backend() == "gloo"
        assert group.gather({"rank": 0}) == [{"rank": 0}]
        assert group.largest(2.5) == 2.5
        assert group.device_ids is None
    finally:
        group.leave()
    assert not dist.is_initialized()
    group.leave()


@pytest.mark.slow
def test_an_int_of_one_rank_is_compared_with_a_float_of_another():
    done = on_ranks(Path(__file__).parent / "largest_on_two_ranks.py")
    assert done.returncode == 0, done.stderr


def time_outs():
    """Those of all groups, in seconds."""
    groups = dist.distributed_c10d._world.pg_map
    backends = [group._get_backend(torch.device("cpu")) for group in groups]
    return [backend.options._timeout.total_seconds() for backend in backends]


def test_a_collective_may_take_longer_until_the_first_steps_are_done(monkeypatch):
    monkeypatch.setenv(SETUP_TIMEOUT, "300")
    monkeypatch.setenv(STEP_TIMEOUT, "100.5")
    group = Group.join("cpu")
    try:
        assert time_outs() == [300]
        dist.new_group([0])  # as a mesh makes them: with torch's own time-out
        assert time_outs() == [300, 1800]
        group.limit(SETUP_TIMEOUT)
        assert time_outs() == [300, 300]
        group.limit(STEP_TIMEOUT)
        assert time_outs() == [100.5, 100.5]
    finally:
        group.leave()


def test_without_a_supervisor_time_outs_are_torchs_own():
    group = Group.join("cpu")
    try:
        group.limit(STEP_TIMEOUT)
        assert time_outs() == [1800]
    finally:
        group.leave()


def test_alone_there_is_none():
    group = Group.alone("cpu")
    assert not dist.is_initialized()
    assert group.gather(5) == [5]
    assert group.largest(2.5) == 2.5
    group.limit(STEP_TIMEOUT)


def test_alone_is_not_for_torchrun(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UnsupportedError, match="measures one device, but was started on 2 ranks"):
        Group.alone("cpu")
