"""Marks of DDP's buckets: where they are made, and that gradients are as without them."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from benchmarks.common.group import Group
from benchmarks.common.strategies.bucket_marks import BucketMarks
from tests.support.ddp_network import Network
from tests.support.fake_time import Time


def halved(_, bucket):
    """A hook that is seen in the gradients."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer() / 2)
    return future


def wrapped(hook=None, **settings):
    Group.join("cpu")
    torch.manual_seed(1)
    model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)])
    model = DistributedDataParallel(model, bucket_cap_mb=0.003, **settings)
    return BucketMarks(model, hook)


def gradients(marks):
    marks.begins()
    marks.model(torch.ones(2, 16)).sum().backward()
    found = [p.grad.clone() for p in marks.model.parameters()]
    marks.model.zero_grad()
    return found


def same(some, others):
    return all(map(torch.equal, some, others))


SETTINGS = [
    {},
    {"static_graph": True},
    {"gradient_as_bucket_view": True},
    {"find_unused_parameters": True},
]


@pytest.mark.filterwarnings("ignore:.*find_unused_parameters")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("hook", [None, default_hooks.allreduce_hook, halved])
def test_gradients_are_as_without_marks(hook, settings):
    marks, clock = wrapped(hook, **settings), Time()
    before = [gradients(marks) for _ in range(3)][-1]
    with marks.watched(clock, buckets=False) as seen:
        assert same(gradients(marks), before)
    assert seen.buckets == []
    for _ in range(2):
        with marks.watched(clock, buckets=True) as seen:
            assert same(gradients(marks), before)
        sizes = [bucket.bytes for bucket in seen.buckets]
        assert sum(sizes) == sum(g.nbytes for g in before)
        with marks.model.no_sync(), marks.watched(clock, buckets=True) as alone:
            gradients(marks)
        assert alone.buckets == []
        assert same(gradients(marks), before)


def test_ranks_are_averaged_without_a_hook(monkeypatch):
    marks = wrapped()
    before = [gradients(marks) for _ in range(3)][-1]
    monkeypatch.setattr(type(marks.model.process_group), "size", lambda group: 2)
    with marks.watched(Time(), buckets=True):
        assert same(gradients(marks), [gradient / 2 for gradient in before])


def test_a_hook_is_not_registered_before_it_is_needed():
    marks = wrapped()
    with marks.watched(Time(), buckets=False):
        gradients(marks)
    assert marks.model._comm_hooks == []


def test_the_marks_are_those_of_the_last_pass():
    clock = Time()
    network = Network(clock, each=2.0)
    marks = wrapped(network.send)
    for parameter in marks.model.module.parameters():
        parameter.register_hook(lambda _: clock.sleep(1))
    gradients(marks), gradients(marks)
    begin = clock.ns
    with marks.watched(clock, buckets=True) as seen:
        with marks.model.no_sync():
            gradients(marks)
        gradients(marks)
    assert clock.milliseconds(begin, seen.begin) == 8.0
    ready = [clock.milliseconds(seen.begin, bucket.ready) for bucket in seen.buckets]
    reduced = [clock.milliseconds(seen.begin, bucket.reduced) for bucket in seen.buckets]
    assert (ready, reduced) == ([6.0, 8.0], [8.0, 10.0])


def test_ddp_still_knows_the_hook():
    marks = wrapped(default_hooks.fp16_compress_hook)
    assert marks.model._get_ddp_logging_data()["comm_hook"] == "fp16_compress_hook"
    assert dist.is_initialized()
