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
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from benchmarks.common import cli
from benchmarks.common.device import deterministic_kernels
from benchmarks.common.dropout import has_dropout, without_dropout
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.gradients import (
    RankResult,
    Trained,
    differences,
    gradients,
    hashes,
)
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS, exact_on
from benchmarks.common.reference import Batches, Reference, cast, gradient_type
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.batches import parts
from benchmarks.common.updates import Updates
from benchmarks.common.verdict import IN_FP32, IN_FP64, Verdict, judge
from benchmarks.common.workload import Batch, Workload

OWN_STEPS = 2  # in the program's own types; the last is compared
LOSS_SCALE = (
    256.0  # under amp-fp16. Training begins with 65536, skips steps that overflow, halves it
)

# Modes in which a replica draws the same dropout masks as one device.
SAME_MASKS = ("single", "ddp", "fsdp", "hsdp")

Factory = Callable[[argparse.Namespace, Workload, Group], Strategy]


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
    with deterministic_kernels():
        exact = run(_exact(args, group.device), args.check_steps)
        own = run(_without_clipping(args), None) if _own_types(args) else None
    if exact is None:
        return None
    return replace(exact, covers=covers, leaves_out=leaves_out, in_own_types=own)


def train(strategy: Strategy, steps: int, batch: Callable[[int], Batch]) -> Trained:
    """Train a few steps: their losses, the last gradients, and then the parameters' hashes."""
    strategy.model.train()
    losses, found = [], {}
    for k in range(steps):
        losses.append(float(strategy.forward_backward(batch(k))))
        if k == steps - 1:
            found = gradients(strategy.model)
        strategy.step()
    return Trained(losses, found, hashes(strategy.model), {})


def train_in_own_types(
    strategy: Strategy, args: argparse.Namespace, batch: Callable[[int], Batch]
) -> Trained:
    """Train steps that all begin with the first parameters, so that rounding does not add up."""
    strategy.model.train()
    start = {(*part, "start"): digest for part, digest in hashes(strategy.model).items()}
    updates = Updates(strategy, args)
    for k in range(OWN_STEPS):
        loss = float(strategy.forward_backward(batch(k)))
        found = gradients(strategy.model)
        steps = updates.step(found)
        end = hashes(strategy.model)
        updates.restore()
    return Trained([loss], found, start | end, steps)


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
    if steps is None:
        mine = train_in_own_types(strategy, args, lambda k: typed(k, replica))
    else:
        mine = train(strategy, steps, lambda k: typed(k, replica))
    del strategy
    gc.collect()  # wrappers are cycles, and hold the memory that the reference needs
    expected = None
    if group.rank == 0:
        per_batch = parts(args, group.world_size)
        alone = Reference(args, workload, group.device, replicas, per_batch, typed)
        expected = alone.gradients(OWN_STEPS - 1) if steps is None else alone.train(steps)
    found = RankResult(mine.losses, differences(mine, expected, group), mine.hashes, mine.updates)
    ranks = group.gather(found)
    if expected is None:
        return None
    floor = IN_FP32 if _own_types(args) else IN_FP64
    return judge(expected, ranks, floor, _types(args), steps or OWN_STEPS)


def _without_clipping(args: argparse.Namespace) -> argparse.Namespace:
    """The same options, with a norm that none exceeds: the update of a rank's part needs no other.

    The path through the gradient scaler stays; the norm over all ranks is checked in fp64.
    """
    limit = None if args.clip_norm is None else 1e30
    return argparse.Namespace(**vars(args) | {"clip_norm": limit})


def _exact(args: argparse.Namespace, device: torch.device) -> argparse.Namespace:
    """The same options, but all numbers in fp64; in fp32 on a device that has no fp64."""
    exact = {"precision": exact_on(device).name}
    exact |= {"mixed_precision": "auto", "reduce_dtype": "none", "float8": "none"}
    if args.comm_hook != "none":
        exact["comm_hook"] = "allreduce"
    return argparse.Namespace(**vars(args) | exact)


def _own_types(args: argparse.Namespace) -> bool:
    """Whether something is computed or sent in another type than fp64."""
    return args.precision != "fp64" or gradient_type(args) is not None


def _types(args: argparse.Namespace) -> str:
    names = [args.precision]
    for name in ("comm_hook", "mixed_precision", "reduce_dtype"):
        value = getattr(args, name)
        if value in PRECISIONS:
            names.append(f"{name.replace('_', '-')} {value}")
    if args.float8 != "none":
        names.append(f"float8 {args.float8}")
    return ", ".join(names)


def _coverage(
    args: argparse.Namespace, workload: Workload
) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
    torch.manual_seed(hash((args.seed, step, replica)))
    return batches(step, replica)


def _typed(batches: Batches, dtype: torch.dtype, step: int, replica: int) -> Batch:
    return cast(batches(step, replica), dtype)
