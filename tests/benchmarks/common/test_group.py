import pytest
import torch.distributed as dist

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group


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


def test_alone_there_is_none():
    group = Group.alone("cpu")
    assert not dist.is_initialized()
    assert group.gather(5) == [5]
    assert group.largest(2.5) == 2.5


def test_alone_is_not_for_torchrun(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UnsupportedError, match="measures one device, but was started on 2 ranks"):
        Group.alone("cpu")
