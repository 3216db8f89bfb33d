"""In every mode one kernel, or a few, update all parameters that are alike."""

from collections import Counter
from contextlib import contextmanager

import pytest
import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.common import strategies
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies.optimizer import Optimizer, clip
from tests.support.fake_ranks import fake_ranks
from tests.support.strategies import options, workload

PLAIN = ("single", "ddp", "pipeline")
SHARDED = (
    *("fsdp", "fsdp --cpu-offload", "fsdp --reduce-dtype bf16", "hsdp"),
    *("tp", "tp --sequence-parallel", "tp-fsdp", "tp-fsdp --sequence-parallel"),
    *("pdp", "pdp --replicated-by replicate"),
)
FUSED = {"adamw": "aten._fused_adamw_.default", "sgd": "aten._fused_sgd_.default"}
# Momentum, its sum with the gradients, and the update.
FOREACH = {"aten._foreach_mul_.Scalar": 1, "aten._foreach_add_.List": 2}


@contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


class Operations(TorchDispatchMode):
    """Counts the operations on plain tensors, also those inside ``DTensor``."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented
        self.counts[str(function)] += 1
        return function(*args, **(kwargs or {}))


def step(strategy):
    for parameter in strategy.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with Operations() as seen:
        strategy.step()
    return {name: count for name, count in seen.counts.items() if name.startswith("aten.")}


def updates(argv):
    """The operations of a step after the first ones, and what the strategy says of them."""
    with fake_ranks(4) as group:
        args = options(argv)
        strategy = strategies.build(args, workload(args), group)
        for _ in range(2):  # the first makes the momentum, the second plans a DTensor's operations
            step(strategy)
        meshes = {getattr(p, "device_mesh", None) for p in strategy.model.parameters()}
        return step(strategy), len(meshes), strategy.metrics()["optimizer_implementation"]


@pytest.mark.parametrize("mode", PLAIN + SHARDED)
def test_one_kernel_of_adamw_updates_all_parameters_of_a_mesh(mode):
    counts, meshes, told = updates(f"--mode {mode} --optimizer adamw")
    counts.pop("aten._foreach_add_.Scalar")  # the number of steps
    assert counts == {FUSED["adamw"]: meshes}
    assert told == "adamw, fused"


@pytest.mark.parametrize("mode", PLAIN)
def test_one_kernel_of_sgd_updates_all_plain_parameters(mode):
    counts, _, told = updates(f"--mode {mode} --optimizer sgd")
    assert counts == {FUSED["sgd"]: 1}
    assert told == "sgd, fused"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_sgd_on_a_cpu_updates_every_number(dtype):
    """The fused kernel of PyTorch 2.11 updates the last of 33 numbers in 16 bits, and no other."""
    parameter = torch.nn.Parameter(torch.zeros(33, dtype=dtype))
    parameter.grad = torch.ones_like(parameter)
    optimizer = Optimizer([parameter], options("", lr=0.5))
    optimizer.step(PRECISIONS["fp32"].scaler(torch.device("cpu"), 1.0))
    assert parameter.tolist() == [-0.5] * 33
    how = "fused" if dtype is torch.float32 else "foreach"
    assert optimizer.metrics() == {"optimizer_implementation": f"sgd, {how}"}


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_gradients_that_overflow_leave_no_trace(name):
    """In the first step too: memory that torch does not initialise is NaN here."""
    skipped, clean = (torch.nn.Parameter(torch.ones(33)) for _ in range(2))
    gradients = {skipped: [torch.inf, 1.0, torch.inf, 3.0], clean: [1.0, 3.0]}
    with deterministic():
        for parameter, values in gradients.items():
            optimizer = Optimizer([parameter], options(f"--optimizer {name}", lr=0.5))
            scaler = PRECISIONS["amp-fp16"].scaler(torch.device("cpu"), 4.0)
            for value in values:
                scale = scaler.scale(torch.ones(())).item()
                parameter.grad = torch.full_like(parameter, value * scale)
                optimizer.step(scaler)
    assert clean.isfinite().all()
    assert not clean.eq(1).any()
    assert skipped.tolist() == clean.tolist()


@pytest.mark.parametrize("mode", SHARDED)
def test_three_operations_of_sgd_update_all_sharded_parameters_of_a_mesh(mode):
    counts, meshes, told = updates(f"--mode {mode} --optimizer sgd")
    assert counts == {name: count * meshes for name, count in FOREACH.items()}
    assert told == "sgd, foreach"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_all_gradients_are_scaled_to_the_norm(dtype):
    parameters = [torch.nn.Parameter(torch.zeros(3, dtype=dtype)) for _ in range(2)]
    for parameter, value in zip(parameters, (3.0, 4.0), strict=True):
        parameter.grad = torch.tensor([value, 0, 0], dtype=dtype)
    clip(parameters, 10.0)
    assert [float(parameter.grad[0]) for parameter in parameters] == [3, 4]  # of norm 5
    clip(parameters, 1.0)
    clipped = [float(parameter.grad[0]) for parameter in parameters]
    assert clipped == pytest.approx([0.6, 0.8], rel=4e-3 if dtype is torch.bfloat16 else 1e-5)


def test_a_parameter_without_a_gradient_has_no_part_in_the_norm():
    idle, used = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    used.grad = torch.tensor([5.0])
    clip([idle, used], 1.0)
    assert idle.grad is None
    assert float(used.grad) == pytest.approx(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_kernel_scales_all_gradients(monkeypatch, dtype):
    """That is, the factor is of their type: for another PyTorch takes a kernel for each tensor."""
    scale, types = torch._foreach_mul_, []
    monkeypatch.setattr(
        torch, "_foreach_mul_", lambda parts, by: types.append(by.dtype) or scale(parts, by)
    )
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
    parameter.grad = torch.ones(3, dtype=dtype)
    clip([parameter], 1.0)
    assert types == [dtype]


@pytest.mark.parametrize("mode", ["ddp", "fsdp", "hsdp", "tp", "tp-fsdp", "pdp", "pipeline"])
def test_clipping_never_waits_for_the_device(mode):
    with fake_ranks(4) as group:
        args = options(f"--mode {mode} --clip-norm 1")
        strategy = strategies.build(args, workload(args), group)
        for _ in range(2):
            step(strategy)
        counts = step(strategy)
    assert "aten._local_scalar_dense.default" not in counts
    assert "aten._foreach_mul_.Tensor" in counts
