"""Marks that hooks make in the threads of autograd and of collectives: waits of a known length.

On a GPU the backward pass runs in a thread of its own, and a future's callback on a stream of its
own, so a mark could be on a stream that does other work.
"""

import threading
from itertools import repeat

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.nn.parallel import DistributedDataParallel

from benchmarks.common.clocks import clock_of
from benchmarks.common.group import Group
from benchmarks.common.marks import EXPOSED, Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.strategies.bucket_marks import BucketMarks
from benchmarks.common.strategies.gradient_marks import GradientMarks
from benchmarks.common.strategies.shard_marks import ShardMarks
from benchmarks.common.timing import StepTimer

OWN, WAIT = 4.0, 8.0  # ms: of each layer but the first in the backward pass; of a planted wait
LAYERS, STEPS, WARMUP = 3, 5, 8  # DDP tells its buckets after some steps
ALL_OWN = (LAYERS - 1) * OWN  # the gradient of the inputs of the first layer is not asked for


@pytest.fixture
def model(device, work):
    class Takes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            work(OWN)
            return gradient

    class Layer(nn.Linear):
        def forward(self, x):
            return super().forward(Takes.apply(x))

    torch.manual_seed(0)
    return nn.Sequential(*(Layer(32, 32) for _ in range(LAYERS))).to(device)


def passed(model, x):
    """The gradients of a pass."""
    model.zero_grad()
    model(x).square().mean().backward()
    return [p.grad.clone() for p in model.parameters()]


def trained(model, marks, waits, device):
    """The parts of measured steps, in ms: each a list."""
    timer = StepTimer(
        waits.clock,
        Emitter(lambda _: None),
        work=1,
        units="steps",
        parts=("forward_backward", "optimizer"),
        waits=waits,
    )
    x = torch.ones(8, 32, device=device)
    for _ in timer.steps(repeat(None), STEPS, WARMUP):
        passed(model, x)
        marks.passed()
        timer.lap()
    parts = [timer.wait_ms, *timer.part_ms.values()]
    assert [sum(ms) for ms in zip(*parts, strict=True)] == pytest.approx(list(timer.ms), abs=0.01)
    assert min(map(min, parts)) >= 0
    return timer.part_ms


def check(parts, device, waited):
    """Each part is at least what was planted; on a GPU, which is alone, they are as it was."""
    own, exposed = parts["forward_backward"], parts[EXPOSED]
    assert min(own) >= ALL_OWN
    assert min(exposed) >= waited
    if device.type == "cuda":
        assert sum(exposed) / sum(own) == pytest.approx(waited / ALL_OWN, rel=0.25)


def test_what_ddp_waits_for_is_exposed(device, work, model):
    group = Group.join(device.type)
    threads, streams = set(), set()

    def look(_):
        threads.add(threading.current_thread() is threading.main_thread())
        streams.add(device.type == "cuda" and torch.cuda.current_stream().cuda_stream)

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(look)
    wrapped = DistributedDataParallel(
        model, device_ids=group.device_ids, bucket_cap_mb=0.003, gradient_as_bucket_view=False
    )

    def slow_at_end(_, bucket):
        sent = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        if bucket.is_last():
            work(WAIT)
        return sent.then(lambda sent: sent.value()[0])

    wrapped.register_comm_hook(None, slow_at_end)
    waits = Waits(clock_of(device))
    marks = GradientMarks(wrapped, waits)
    check(trained(wrapped, marks, waits, device), device, WAIT)
    assert threads == {device.type == "cpu"}
    assert len(streams) == 1


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_what_fsdp_waits_for_is_exposed(monkeypatch, device, work, model):
    Group.join(device.type)
    right, calls = FSDPParamGroup.wait_for_unshard, []

    def slowed(group):
        calls.append(group)
        work(WAIT)
        right(group)

    monkeypatch.setattr(FSDPParamGroup, "wait_for_unshard", slowed)
    mesh = init_device_mesh(device.type, (1,))
    for module in (*model, model):
        fully_shard(module, mesh=mesh)
    waits = Waits(clock_of(device))
    marks = ShardMarks(model, waits)
    passed(model, torch.ones(8, 32, device=device))
    in_a_step = len(calls)
    assert in_a_step >= LAYERS
    check(trained(model, marks, waits, device), device, in_a_step * WAIT)


def test_the_callback_of_a_future_marks_the_end_of_its_all_reduce(monkeypatch, device, work, model):
    group, x = Group.join(device.type), torch.ones(8, 32, device=device)
    alone = passed(model, x)
    wrapped = DistributedDataParallel(model, device_ids=group.device_ids, bucket_cap_mb=0.003)
    marks, right = BucketMarks(wrapped), dist.all_reduce

    def slowed(*args, **settings):
        work(WAIT)
        return right(*args, **settings)

    passed(wrapped, x)
    monkeypatch.setattr(dist, "all_reduce", slowed)
    clock = clock_of(device)
    for _ in range(3):
        with marks.watched(clock, buckets=True) as seen:
            gradients = passed(wrapped, x)
    end = clock.mark()
    clock.wait(end)
    took = [clock.milliseconds(bucket.ready, bucket.reduced) for bucket in seen.buckets]
    assert len(took) >= 2
    assert min(took) >= WAIT
    if device.type == "cuda":
        assert max(took) < 1.5 * min(took)
    assert all(map(torch.equal, gradients, alone))
