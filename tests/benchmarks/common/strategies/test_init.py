"""Every mode builds its own kind of strategy, also in a group of one."""

import pytest
import torch
from torch.distributed import distributed_c10d

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import SETUP_TIMEOUT, Group
from tests.support.strategies import batch, options, workload

MODES = ("single", "ddp", "fsdp", "hsdp", "tp", "tp-fsdp", "pipeline")


@pytest.fixture
def group():
    """A process group of this process alone."""
    return Group.join("cpu")


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")  # of what tp-fsdp returns
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_trains_as_no_wrapper_does(group, mode):
    losses = {}
    for name in ("single", mode):
        args = options(f"--mode {name}")
        strategy = strategies.build(args, workload(args), group)
        assert (strategy.data_parallel_size, strategy.data_parallel_rank) == (1, 0)
        losses[name] = []
        for _ in range(3):
            losses[name].append(float(strategy.forward_backward(batch(0, 0))))
            strategy.step()
    assert losses[mode] == pytest.approx(losses["single"], rel=1e-4)
    assert losses[mode][2] < losses[mode][0]


def test_what_cannot_be_is_refused_before_anything_is_built():
    args = options("--mode ddp --accumulate 3")
    with pytest.raises(UnsupportedError, match="cannot be divided by --accumulate 3"):
        strategies.build(args, workload(args), Group(torch.device("cpu"), 0, 2))


@pytest.mark.parametrize("mode", ["fsdp", "hsdp", "tp-fsdp", "pdp"])
def test_the_groups_of_a_mesh_have_the_time_out_of_the_set_up(monkeypatch, mode):
    monkeypatch.setenv(SETUP_TIMEOUT, "300")
    group = Group.join("cpu")
    try:
        one = " --ndevice-per-proc 1" if mode == "pdp" else ""
        args = options(f"--mode {mode}{one}", batch_size=8)
        strategies.build(args, workload(args), group)
        backends = [each._get_backend(group.device) for each in distributed_c10d._world.pg_map]
        assert {each.options._timeout.total_seconds() for each in backends} == {300}
    finally:
        group.leave()
