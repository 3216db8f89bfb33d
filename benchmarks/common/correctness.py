"""``--check-correctness``: checks that a strategy computes the same as one device.

First in fp64: rank 0 trains the model alone, from the same seed and on the batches of all replicas;
then the strategy trains on the same batches. The losses of all steps and the gradients of the last
one are compared, and copies of a parameter on several ranks must be equal to the bit. Rounding is
1e-15 there, so that no ReLU and no pooling takes another branch, and an error of 1 % in one
parameter on one rank stands out by a factor of a million.

Then a step in the program's own types, whose paths (autocast, communication hooks, FSDP's policy)
are not part of the first check. It is the second step, with the parameters of the first: buckets
are rebuilt by then, and a gradient of the step before is another one. Here the errors may be a
small multiple of those that one device makes in the same types.
"""

import argparse
import gc
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.common import cli
from benchmarks.common.dropout import has_dropout, without_dropout
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.gradients import (
    Errors,
    RankResult,
    Trained,
    compare,
    differences,
    full_gradients,
    hashes,
)
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS, exact_on
from benchmarks.common.reference import Batches, Reference, cast, gradient_type
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.batches import parts
from benchmarks.common.workload import Batch, Workload

# The largest error that comes from adding the same numbers in another order, relative to the norm
# of all gradients. Measured: 2e-15 in fp64. In fp32 1e-6, but 3e-4 where a ReLU switches.
IN_FP64, IN_FP32 = 1e-10, 1e-3
# In coarser types also a multiple of the error that one device makes. Measured, over all modes and
# models: at most 2.2 times it. Rounding has no direction, so that the scale of all gradients
# together is known better: measured to at most 0.16 times the error.
MULTIPLE, SCALE_MULTIPLE = 3.0, 0.5

OWN_STEPS = 2  # in the program's own types; the last is compared
LOSS_SCALE = (
    256.0  # under amp-fp16. Training begins with 65536, skips steps that overflow, halves it
)

# Modes in which a replica draws the same dropout masks as one device.
SAME_MASKS = ("single", "ddp", "fsdp", "hsdp")

Factory = Callable[[argparse.Namespace, Workload, Group], Strategy]


@dataclass(frozen=True)
class Verdict(Errors):
    """The differences between a strategy and one device, in one precision."""

    tolerance: float  # of gradients and losses
    scale_tolerance: float
    precision: str
    steps: int
    covers: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()
    in_own_types: "Verdict | None" = field(default=None)  # None: they are fp64

    @property
    def ok(self) -> bool:
        """Whether the strategy is right, so that its speed counts."""
        within = (  # false for nan, unlike max()
            self.gradient_error <= self.tolerance
            and self.loss_error <= self.tolerance
            and self.scale_error <= self.scale_tolerance
        )
        others = self.in_own_types is None or self.in_own_types.ok
        return within and self.replicas_equal and others

    def differences(self) -> str:
        """The differences in a sentence, those in the program's own types behind it."""
        told = (
            f"in {self.precision} gradients differ by {self.gradient_error:.2g} (relative, at most "
            f"{self.tolerance:.2g}), their scale by {self.scale_error:.2g} (at most "
            f"{self.scale_tolerance:.2g}), losses by {self.loss_error:.2g}, equal replicas: "
            f"{self.replicas_equal}"
        )
        return told if self.in_own_types is None else f"{told}; {self.in_own_types.differences()}"

    def advice(self) -> str:
        """Where to look for the error of a verdict that is not ok."""
        if self.in_own_types is not None and replace(self, in_own_types=None).ok:
            return (
                "exact numbers are right: look at what these types alone use (autocast, gradient "
                "scaler, --comm-hook, --mixed-precision, --reduce-dtype)"
            )
        return (
            "look at the mode and its options: leave them out in turn; --check-steps 1 compares "
            "gradients before any update"
        )

    def payload(self) -> dict[str, Any]:
        """The verdict as a payload; an error that is not finite is None."""
        told: dict[str, Any] = {
            "ok": self.ok,
            "gradient_error": _number(self.gradient_error),
            "scale_error": _number(self.scale_error),
            "loss_error": _number(self.loss_error),
            "replicas_equal": self.replicas_equal,
            "tolerance": _number(self.tolerance),
            "scale_tolerance": _number(self.scale_tolerance),
            "reference": "single",
            "precision": self.precision,
            "steps": self.steps,
        }
        if self.covers or self.leaves_out:
            told |= {"covers": list(self.covers), "leaves_out": list(self.leaves_out)}
        if self.in_own_types is not None:
            told["in_own_types"] = self.in_own_types.payload()
        return told


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--check-correctness`` and its number of steps."""
    text = "first compare losses and gradients with one device's; exit with 1 if they differ"
    parser.add_argument("--check-correctness", action="store_true", help=text)
    text = "steps of --check-correctness; a lost momentum is seen in the third"
    parser.add_argument("--check-steps", type=cli.positive, default=3, help=text)


def check(
    args: argparse.Namespace,
    workload: Workload,
    group: Group,
    strategy_factory: Factory,
    batches: Batches,
) -> Verdict | None:
    """Compare the strategy that the factory builds with ``single``; rank 0 gets the verdict.

    The models are in training mode: a batch norm uses the statistics of its replica's batch (or of
    its part of it), and one device draws the same dropout masks as each replica. Where ranks draw
    other masks than one device (pipelines, tensor parallelism, compiled models) dropout is off.

    ``UnsupportedError`` for PowerSGD, whose gradients are meant to differ.
    """
    if args.comm_hook == "powersgd":
        raise UnsupportedError(
            "PowerSGD approximates gradients: they cannot be compared with exact ones"
        )
    args = argparse.Namespace(**vars(args) | {"first_loss_scale": LOSS_SCALE})
    covers, leaves_out = _coverage(args, workload)
    if "dropout" in leaves_out:
        workload = replace(workload, make_model=partial(_without_dropout, workload))
    run = partial(_compared, workload, group, strategy_factory, partial(_seeded, args, batches))
    exact = run(_exact(args, group.device), args.check_steps)
    own = run(args, None) if _own_types(args) else None
    if exact is None:
        return None
    return replace(exact, covers=covers, leaves_out=leaves_out, in_own_types=own)


def train(
    strategy: Strategy, steps: int, batch: Callable[[int], Batch], *, same_start: bool = False
) -> Trained:
    """Train a few steps: their losses, the last gradients, and then the parameters' hashes.

    With ``same_start`` every step begins with the first parameters. So rounding does not add up.
    """
    strategy.model.train()
    losses = []
    start = [p.detach().clone() for p in strategy.model.parameters()] if same_start else []
    for k in range(steps - 1):
        losses.append(float(strategy.forward_backward(batch(k))))
        strategy.step()
        _restore(strategy, start)
    losses.append(float(strategy.forward_backward(batch(steps - 1))))
    gradients = full_gradients(strategy.model)
    strategy.step()
    return Trained(losses, gradients, hashes(strategy.model))


@torch.no_grad()
def _restore(strategy: Strategy, values: list[Tensor]) -> None:
    if values:
        for parameter, value in zip(strategy.model.parameters(), values, strict=True):
            parameter.copy_(value)


def _compared(
    workload: Workload,
    group: Group,
    strategy_factory: Factory,
    batches: Batches,
    args: argparse.Namespace,
    steps: int | None,
) -> Verdict | None:
    """The strategy beside one device, in the types of ``args``.

    ``steps`` is None for one step with the first parameters, and a tolerance for rounding.
    """
    typed = partial(_typed, batches, PRECISIONS[args.precision].dtype)
    strategy = strategy_factory(args, workload, group)
    replicas, replica = strategy.data_parallel_size, strategy.data_parallel_rank
    count = steps or OWN_STEPS
    mine = train(strategy, count, lambda k: typed(k, replica), same_start=steps is None)
    losses = mine.losses if steps else mine.losses[-1:]
    del strategy
    gc.collect()  # wrappers are cycles, and hold the memory that the reference needs
    reference, rounding = None, 0.0
    if group.rank == 0:
        per_batch = parts(args, group.world_size)
        alone = Reference(args, workload, group.device, replicas, per_batch, typed)
        if steps is None:
            reference, rounding = alone.gradients(count - 1)
        else:
            reference = alone.train(steps)
    found = RankResult(losses, differences(mine, reference, group), mine.hashes)
    ranks = group.gather(found)
    if reference is None:
        return None
    floor = IN_FP32 if _own_types(args) else IN_FP64
    return Verdict(
        **vars(compare(reference, ranks)),
        tolerance=floor + MULTIPLE * rounding,
        scale_tolerance=floor + SCALE_MULTIPLE * rounding,
        precision=_types(args),
        steps=count,
    )


def _exact(args: argparse.Namespace, device: torch.device) -> argparse.Namespace:
    """The same options, but all numbers in fp64; in fp32 on a device that has no fp64."""
    exact = {"precision": exact_on(device).name}
    exact |= {"mixed_precision": "auto", "reduce_dtype": "none"}
    if args.comm_hook != "none":
        exact["comm_hook"] = "allreduce"
    return argparse.Namespace(**vars(args) | exact)


def _own_types(args: argparse.Namespace) -> bool:
    """Whether something is computed or sent in another type than fp64."""
    return args.precision != "fp64" or gradient_type(args) is not None


def _types(args: argparse.Namespace) -> str:
    """The precision, and the options that name a type of their own."""
    names = [args.precision]
    for name in ("comm_hook", "mixed_precision", "reduce_dtype"):
        value = getattr(args, name)
        if value in PRECISIONS:
            names.append(f"{name.replace('_', '-')} {value}")
    return ", ".join(names)


def _coverage(
    args: argparse.Namespace, workload: Workload
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the check of this model covers besides gradients and updates, and what it leaves out."""
    with torch.device("meta"):
        model = workload.make_model()
    covers, leaves_out = [], []
    if has_dropout(model):
        masks_differ = args.mode not in SAME_MASKS or args.compile != "none"
        (leaves_out if masks_differ else covers).append("dropout")
    if any(isinstance(module, torch.nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        covers.append("batch norm")
        leaves_out.append("running statistics")
    return tuple(covers), tuple(leaves_out)


def _without_dropout(workload: Workload) -> torch.nn.Module:
    return without_dropout(workload.make_model())


def _seeded(args: argparse.Namespace, batches: Batches, step: int, replica: int) -> Batch:
    """The batch; seeds the random numbers, so that all who train on it draw the same."""
    torch.manual_seed(hash((args.seed, step, replica)))
    return batches(step, replica)


def _typed(batches: Batches, dtype: torch.dtype, step: int, replica: int) -> Batch:
    return cast(batches(step, replica), dtype)


def _number(value: float) -> float | None:
    return float(f"{value:.3g}") if math.isfinite(value) else None
