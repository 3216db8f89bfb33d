"""What FSDP gathers, what replicas reduce, and what is told of both."""

from collections import Counter

import pytest
import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.common import strategies
from benchmarks.common.strategies.dtypes import gathered_dtype, reduced_dtype, told_dtypes
from tests.support.fake_ranks import fake_ranks
from tests.support.strategies import batch, options, workload

BF16, FP32 = torch.bfloat16, torch.float32


@pytest.mark.parametrize(
    ("argv", "precision", "gathered", "reduced"),
    [
        ("fsdp", "fp32", None, FP32),
        ("fsdp", "amp", BF16, FP32),
        ("tp-fsdp", "amp", BF16, FP32),
        ("fsdp --mixed-precision none", "amp", None, FP32),
        ("fsdp --reduce-dtype bf16", "amp", BF16, BF16),
        ("hsdp --mixed-precision bf16", "tf32", BF16, FP32),
        ("pdp", "bf16", None, BF16),
        ("pdp --reduce-dtype fp32", "bf16", None, FP32),
        ("fsdp", "fp64", None, torch.float64),
        ("ddp", "amp", None, FP32),
        ("ddp --comm-hook bf16", "amp", None, BF16),
        ("ddp --comm-hook allreduce", "bf16", None, BF16),
    ],
)
def test_the_types_that_are_sent(argv, precision, gathered, reduced):
    args = options(f"--mode {argv}", precision=precision)
    assert gathered_dtype(args) is gathered
    assert reduced_dtype(args) is reduced


class Sent(TorchDispatchMode):
    """The types of the tensors that collectives of FSDP and DDP send."""

    def __init__(self):
        super().__init__()
        self.types = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented
        name = str(function).split(".")
        if name[0] == "c10d":
            tensors = args[0] if isinstance(args[0], list) else args[:1]
            self.types.setdefault(name[1], Counter())[tensors[0].dtype] += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", ["fsdp", "hsdp"])
def test_what_is_told_is_what_is_sent(mode):
    with fake_ranks(4) as group:
        args = options(f"--mode {mode}", precision="amp")
        strategy = strategies.build(args, workload(args), group)
        with Sent() as sent:
            strategy.forward_backward(batch(0, 0))
        told = strategy.metrics()
    gathers = sent.types.pop("_allgather_base_")
    assert gathers.keys() == {BF16}
    assert all(types.keys() == {FP32} for types in sent.types.values())
    assert "_reduce_scatter_base_" in sent.types
    assert (told["gathered_dtype"], told["reduced_dtype"]) == ("bf16", "fp32")


def test_modes_without_replicas_tell_the_precision_alone():
    assert told_dtypes(options("--mode tp", precision="amp")) == {"precision": "amp"}
