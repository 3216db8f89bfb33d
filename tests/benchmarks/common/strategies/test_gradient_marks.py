"""Own backward and exposed communication under DDP, on a clock and a network moved by hand.

Each gradient takes the rank a millisecond. A communication hook sends the buckets one after another
over a network, and the backward pass ends when it is idle.
"""

from itertools import repeat

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.marks import EXPOSED, Waits
from benchmarks.common.strategies.gradient_marks import GradientMarks
from tests.support.ddp_network import Network
from tests.support.fake_time import Time, timer_of
from tests.support.strategies import batch, options, workload

LAYERS = 6
BUCKET_MB = 0.003  # three layers of 1 kB and their biases


@pytest.fixture
def trained(monkeypatch):
    """Trains under DDP in a process group of this process alone, and returns the timer."""
    Group.join("cpu")

    def train(
        steps=6, warmup=8, passes=1, hooked=True, gradient_ms=1.0, buffers_ms=0.0, **settings
    ):
        clock = Time()
        network = Network(clock, **settings.pop("network", {}))
        model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(LAYERS)])
        if buffers_ms:
            model.register_buffer("statistics", torch.zeros(1))
            monkeypatch.setattr(
                DistributedDataParallel, "_sync_buffers", lambda _: clock.sleep(buffers_ms)
            )
            model.register_forward_hook(lambda *_: clock.sleep(2.0))
        for parameter in model.parameters():
            parameter.register_hook(lambda _: clock.sleep(gradient_ms))
        wrapped = DistributedDataParallel(model, bucket_cap_mb=BUCKET_MB, **settings)
        if hooked:
            wrapped.register_comm_hook(None, network.send)
        waits = Waits(clock)
        marks = GradientMarks(wrapped, waits)
        timer = timer_of(clock, [], parts=("forward", "backward", "optimizer"), waits=waits)
        for _ in timer.steps(repeat(None), steps, warmup):
            clock.sleep(5)
            timer.lap()
            for number in range(passes):
                wrapped.require_backward_grad_sync = number == passes - 1
                wrapped(torch.ones(2, 16)).sum().backward()
                marks.passed()
            network.wait()
            timer.lap()
            model.zero_grad()
            clock.sleep(1)
        means = {name: sum(ms) / steps for name, ms in timer.part_ms.items()}
        return means, network, model

    return train


def hooked_parameters(model):
    return [name for name, p in model.named_parameters() if p._post_accumulate_grad_hooks]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"static_graph": True},
        {"gradient_as_bucket_view": True},
        {"find_unused_parameters": True},
        {"find_unused_parameters": True, "static_graph": True},
        {"warmup": 1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*find_unused_parameters")
def test_the_backward_pass_is_split_where_the_last_gradient_comes(trained, settings):
    parts, network, _ = trained(network={"each": 2.0, "last": 7.0}, **settings)
    assert parts == {"forward": 5.0, "backward": 12.0, EXPOSED: 9.0, "optimizer": 1.0}
    assert network.sent > 8


def test_the_last_bucket_is_exposed_and_the_first_is_hidden(trained):
    clean = trained()[0]
    assert clean[EXPOSED] == 2.0
    late = trained(network={"last": 3.5})[0]
    assert late == {**clean, EXPOSED: 5.5}
    hidden = trained(network={"first": 3.0})[0]
    assert hidden == clean


def test_own_work_of_the_backward_pass_is_no_communication(trained):
    slow = trained(gradient_ms=1.5)[0]
    assert slow == {"forward": 5.0, "backward": 18.0, EXPOSED: 2.0, "optimizer": 1.0}


def test_with_several_passes_only_the_last_communicates(trained):
    parts = trained(passes=3)[0]
    assert parts == {"forward": 5.0, "backward": 36.0, EXPOSED: 2.0, "optimizer": 1.0}


@pytest.mark.parametrize("passes", [1, 2])
def test_buffers_that_rank_0_sends_are_waited_for(trained, passes):
    parts = trained(passes=passes, buffers_ms=4.0)[0]
    own = passes * (12.0 + 2.0)  # gradients, and the forward pass
    assert parts == {"forward": 5.0, "backward": own, EXPOSED: 2.0 + 4.0, "optimizer": 1.0}


@pytest.mark.filterwarnings("ignore:.*find_unused_parameters")
def test_hooks_are_left_on_the_last_parameter_of_each_bucket(trained):
    model = trained()[2]
    assert hooked_parameters(model) == ["0.weight", "3.weight"]
    everywhere = trained(find_unused_parameters=True)[2]
    assert len(hooked_parameters(everywhere)) == 2 * LAYERS


def test_without_a_communication_hook_the_wait_is_there_too(trained):
    parts = trained(hooked=False)[0]
    assert parts == {"forward": 5.0, "backward": 12.0, EXPOSED: 0.0, "optimizer": 1.0}


@pytest.mark.parametrize("argv", ["--mode ddp", "--mode ddp --accumulate 2", "--mode single"])
def test_which_strategies_mark_their_waits(argv):
    args, clock = options(argv), Time()
    strategy = strategies.build(args, workload(args), Group.join("cpu"))
    waits = Waits(clock)
    seen = []
    waits.begin_anew = lambda: seen.append(clock.ns)
    assert strategy.mark_waits(waits) is ("ddp" in argv)
    for step in range(6):
        seen.clear()
        strategy.forward_backward(batch(step, 0))
        strategy.step()
    assert len(seen) == {"--mode ddp": 1, "--mode ddp --accumulate 2": 2}.get(argv, 0)
