"""``--check-correctness``: checks that a strategy computes the same as one device.

Rank 0 first trains the model alone, from the same seed and in the same precision, on the batches of
all replicas; then the strategy trains on the same batches. The losses of all steps and the
gradients of the last one are compared. Copies of a parameter on several ranks must be equal to the
bit.
"""

import argparse
import gc
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from benchmarks.common import cli, strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.parameters import plain_name
from benchmarks.common.workload import Batch, Workload

# The largest difference, relative to the norm of all gradients, that comes from adding the same
# numbers in another order. Measured in fp32: 1e-7 to 1e-6. One rounding in 16 bits is 4e-3 (bf16)
# or 5e-4 (fp16).
TOLERANCES = {
    "fp64": 1e-10,
    "fp32": 1e-4,
    "tf32": 1e-2,
    "fp16": 2e-2,
    "bf16": 5e-2,
    "amp": 5e-2,
    "amp-fp16": 2e-2,
}

Factory = Callable[[argparse.Namespace, Workload, Group], Strategy]
Batches = Callable[[int, int], Batch]  # (step, replica): its batch, on this rank's device


@dataclass(frozen=True)
class Verdict:
    """The differences between a strategy and one device."""

    gradient_error: float  # relative L2, over all parameters
    loss_error: float  # relative, of the worst step
    replicas_equal: bool
    tolerance: float
    precision: str  # in which both were trained

    @property
    def ok(self) -> bool:
        """Whether the strategy is right, so that its speed counts."""
        errors = (self.gradient_error, self.loss_error)
        within = all(error <= self.tolerance for error in errors)  # false for nan, unlike max()
        return within and self.replicas_equal

    def payload(self) -> dict[str, Any]:
        """The verdict as a payload; an error that is not finite is None."""
        return {
            "ok": self.ok,
            "gradient_error": _number(self.gradient_error),
            "loss_error": _number(self.loss_error),
            "replicas_equal": self.replicas_equal,
            "tolerance": self.tolerance,
            "reference": "single",
            "precision": self.precision,
        }


@dataclass(frozen=True)
class RankResult:
    """One rank's part of the comparison, as it is sent to rank 0."""

    losses: Sequence[float]  # nan if the rank does not have it
    differences: Mapping[str, float]  # sum of squares, of each gradient that the rank has
    hashes: Mapping[tuple[object, ...], str]  # of each part of each parameter


@dataclass(frozen=True)
class Trained:
    """The results of a few steps on one rank."""

    losses: Sequence[float]
    gradients: Mapping[str, Tensor]  # full tensors, on the host
    hashes: Mapping[tuple[object, ...], str]  # of each part of each parameter


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--check-correctness`` and its number of steps."""
    text = "first compare losses and gradients with one device's; exit with 1 if they differ"
    parser.add_argument("--check-correctness", action="store_true", help=text)
    parser.add_argument(
        "--check-steps", type=cli.positive, default=2, help="steps of --check-correctness"
    )
    parser.set_defaults(check_fp32_in="fp32")


def check(
    args: argparse.Namespace,
    workload: Workload,
    group: Group,
    strategy_factory: Factory,
    batches: Batches,
) -> Verdict | None:
    """Compare the strategy that the factory builds with ``single``; rank 0 gets the verdict.

    Dropout is off and batch norms use their running statistics: both would differ even if the
    strategy is right. A program in fp32 may be checked in fp64, where rounding does not matter.
    """
    if args.precision == "fp32" != args.check_fp32_in:
        args = argparse.Namespace(**vars(args) | {"precision": args.check_fp32_in})
        batches = partial(_cast, batches, PRECISIONS[args.precision].dtype)
    allowed = tolerance(args)
    strategy = strategy_factory(args, workload, group)
    replicas = strategy.data_parallel_size
    mine = train(strategy, args.check_steps, partial(_batch, batches, strategy.data_parallel_rank))
    del strategy
    gc.collect()  # wrappers are cycles, and hold the memory that the reference needs
    reference = _reference(args, workload, group, replicas, batches) if group.rank == 0 else None
    ranks = group.gather(RankResult(mine.losses, _differences(mine, reference, group), mine.hashes))
    return compare(reference, ranks, allowed, args.precision) if reference else None


def _cast(batches: Batches, dtype: torch.dtype, step: int, replica: int) -> Batch:
    batch = batches(step, replica)
    return tuple(t.to(dtype) if t.is_floating_point() else t for t in batch)


def _batch(batches: Batches, replica: int, step: int) -> Batch:
    return batches(step, replica)


def tolerance(args: argparse.Namespace) -> float:
    """The tolerance of the coarsest type that a gradient passes through.

    ``UnsupportedError`` for PowerSGD, whose gradients are meant to differ.
    """
    if args.comm_hook == "powersgd":
        raise UnsupportedError(
            "PowerSGD approximates gradients: they cannot be compared with exact ones"
        )
    coarse = (args.precision, args.comm_hook, args.mixed_precision, args.reduce_dtype)
    return max(TOLERANCES[name] for name in coarse if name in TOLERANCES)


def train(strategy: Strategy, steps: int, batch: Callable[[int], Batch]) -> Trained:
    """Train a few steps: their losses, the last gradients, and then the parameters' hashes."""
    strategy.model.eval()
    losses, gradients = [], {}
    for k in range(steps):
        losses.append(float(strategy.forward_backward(batch(k))))
        if k == steps - 1:
            gradients = full_gradients(strategy.model)
        strategy.step()
    return Trained(losses, gradients, hashes(strategy.model))


def compare(
    reference: Trained, ranks: Sequence[RankResult], allowed: float, precision: str
) -> Verdict:
    """Compare the parts of all ranks with one device: the verdict."""
    difference = total = 0.0
    for name, expected in reference.gradients.items():
        squares = _squares(expected)
        total += squares
        # Any copy may be wrong; a gradient that no rank has counts as an error of its full size.
        found = [rank.differences[name] for rank in ranks if name in rank.differences]
        difference += max(found, default=squares)
    worst = 0.0
    for k, expected_loss in enumerate(reference.losses):
        losses = [rank.losses[k] for rank in ranks]
        known = [loss for loss in losses if not math.isnan(loss)]
        loss = sum(known) / len(known) if known else math.nan
        error = abs(loss - expected_loss) / max(abs(expected_loss), 1e-12)
        worst = error if math.isnan(error) else max(worst, error)
    copies: dict[tuple[object, ...], set[str]] = {}
    for rank in ranks:
        for part, digest in rank.hashes.items():
            copies.setdefault(part, set()).add(digest)
    equal = all(len(digests) == 1 for digests in copies.values())
    return Verdict(math.sqrt(difference / max(total, 1e-300)), worst, equal, allowed, precision)


def full_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Full gradients by the parameter's plain name, on the host; every rank must call this."""
    found = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if isinstance(gradient, DTensor):
            # Offloaded shards are gathered on the devices, the only place that NCCL knows.
            gradient = gradient.to(gradient.device_mesh.device_type).full_tensor()
        if gradient is not None:
            exact = torch.promote_types(gradient.dtype, torch.float32)
            found[plain_name(name)] = gradient.detach().to(exact).cpu().clone()
    return found


def hashes(model: nn.Module) -> dict[tuple[object, ...], str]:
    """A hash of each part of a parameter that this rank has; copies have the same key."""
    found = {}
    for name, parameter in model.named_parameters():
        part: tuple[object, ...] = (plain_name(name),)
        values = parameter.detach()
        if isinstance(values, DTensor):
            where = values.device_mesh.get_coordinate() or []
            sharded = [not placement.is_replicate() for placement in values.placements]
            part += tuple(at for at, split in zip(where, sharded, strict=True) if split)
            values = values.to_local()
        raw = values.contiguous().cpu().view(-1).view(torch.uint8)
        found[part] = hashlib.blake2b(raw.numpy().tobytes(), digest_size=16).hexdigest()
    return found


def _reference(
    args: argparse.Namespace, workload: Workload, group: Group, replicas: int, batches: Batches
) -> Trained:
    """Train on one device, on the batches of all replicas: the mean loss is the global batch's."""
    plain_args = argparse.Namespace(**vars(args) | strategies.defaults() | {"mode": "single"})
    plain_args.optimizer = args.optimizer
    single = strategies.build(plain_args, workload, Group(group.device))
    assert not single.interleaved
    single.model.eval()
    losses, gradients = [], {}
    for k in range(args.check_steps):
        parts = []
        for replica in range(replicas):
            loss = single.forward(batches(k, replica))
            single.backward(loss / replicas)
            parts.append(float(loss.detach()))
        losses.append(sum(parts) / replicas)
        if k == args.check_steps - 1:
            gradients = full_gradients(single.model)
        single.step()
    return Trained(losses, gradients, {})


def _differences(mine: Trained, reference: Trained | None, group: Group) -> dict[str, float]:
    """Sums of squares of the differences to the reference, which only rank 0 has.

    Rank 0 sends one gradient after another, so that no rank has more than two models in memory.
    """
    sizes: list[dict[str, Any]] = [{}]
    if reference is not None:
        sizes = [{name: (g.shape, g.dtype) for name, g in reference.gradients.items()}]
    if group.world_size > 1:
        dist.broadcast_object_list(sizes, device=group.device)
    found = {}
    for name, (shape, dtype) in sizes[0].items():
        if reference is not None:
            expected = reference.gradients[name].to(group.device)
        else:
            expected = torch.empty(shape, dtype=dtype, device=group.device)
        if group.world_size > 1:
            dist.broadcast(expected, 0)
        if name in mine.gradients:
            found[name] = _squares(mine.gradients[name] - expected.cpu())
    return found


def _squares(values: Tensor) -> float:
    return float(values.double().square().sum())


def _number(value: float) -> float | None:
    return float(f"{value:.3g}") if math.isfinite(value) else None
