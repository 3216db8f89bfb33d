"""Started on each rank: checks every command line of a file, all in one process group.

    python tests/support/forked_ranks.py RANKS equality.py CASES VERDICTS

A line of CASES is ``name: options``, a line of VERDICTS the JSON of one verdict. A name that begins
with ``planted-`` is built with the error of that name, one with ``alone-`` has the error in the
program's own types alone; one that ends with `` in bf16`` is for a program in that precision.
"""

import gc
import json
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from benchmarks.common import correctness, strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies import pipeline
from benchmarks.common.strategies.batches import PIPELINES
from tests.support.fake_fp8 import allow_fp8_on_cpus
from tests.support.strategies import batch, option_parser, workload


def local(gradient):
    return gradient.to_local() if isinstance(gradient, DTensor) else gradient


def after_backward(strategy, change):
    """Let ``change`` have the parameters of this rank after each backward pass."""
    right = strategy.forward_backward

    def wrong(given):
        loss = right(given)
        change([p for p in strategy.model.parameters() if local(p.grad).numel()])
        return loss

    strategy.forward_backward = wrong


def scaled(at, rank):
    """A hundredth too much in one parameter of one rank, after the reduction."""

    def plant(strategy, group):
        if group.rank == rank % group.world_size:
            after_backward(strategy, lambda parameters: local(parameters[at].grad).mul_(1.01))

    return plant


def chosen(which, everywhere):
    """A hundredth too much in one parameter, after the reduction, on all ranks or the last one."""

    def plant(strategy, group):
        named = dict(strategy.model.named_parameters())
        if everywhere or group.rank == group.world_size - 1:
            after_backward(strategy, lambda _: local(named[which(named)].grad).mul_(1.01))

    return plant


def largest(named):
    return max(named, key=lambda name: named[name].numel())


def smallest(named):
    return min(named, key=lambda name: named[name].numel())


def bias(named):
    return next(name for name in named if name.endswith("bias"))


def learn_faster(strategy, group):
    """The last rank updates by a hundredth more."""
    if group.rank == group.world_size - 1:
        for settings in strategy._optimizer._torch.param_groups:
            settings["lr"] *= 1.01


def loss_of_one_rank(strategy, group):
    """A hundredth too much in all gradients of the last rank, before the reduction."""
    if group.rank == group.world_size - 1:
        right = strategy.backward
        strategy.backward = lambda loss: right(1.01 * loss)


def wrong_divisor(strategy, group):
    """All ranks agree on gradients that are a hundredth too large."""

    def change(parameters):
        for parameter in parameters:
            local(parameter.grad).mul_(1.01)

    after_backward(strategy, change)


def stale(strategy, group):
    """Every update but the first uses the gradients of the step before."""
    kept = []

    def change(parameters):
        kept.append([local(p.grad).clone() for p in parameters])
        for parameter, old in zip(parameters, kept[max(len(kept) - 2, 0)], strict=True):
            local(parameter.grad).copy_(old)

    after_backward(strategy, change)


def wrong_shard(strategy, group):
    """The last rank has the rows of its largest matrix in another order."""

    def change(parameters):
        if group.rank == group.world_size - 1:
            largest = max((local(p.grad) for p in parameters if p.dim() > 1), key=torch.numel)
            largest.copy_(largest.roll(1, 0))

    after_backward(strategy, change)


def added_up(strategy, group):
    """The gradients are not dropped after an update."""
    strategy._optimizer._torch.zero_grad = lambda: None


def no_reduction(strategy, group):
    """Each rank keeps its own gradients."""
    strategy.model.register_comm_hook(None, own_bucket)


def own_bucket(_, bucket):
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def lost_momentum(strategy, group):
    """The optimizer forgets its state after each step."""
    step = strategy.step

    def forgetful():
        step()
        strategy._optimizer._torch.state.clear()

    strategy.step = forgetful


def clipped_in_parts(strategy, group):
    """Each stage clips by the norm of its own gradients."""
    strategy._optimizer._stages = None


def before_reduction(strategy, group):
    """Rank 1 is off by a thousandth before the replicas average: all have the same wrong sum."""
    if group.rank == 1:
        for parameter in strategy.model.parameters():
            parameter.register_hook(lambda gradient: gradient * 1.001)


def after_reduction(strategy, group):
    """Rank 1 is off by a thousandth where it updates its parameters: the replicas drift apart."""
    step = strategy.step

    def off():
        if group.rank == 1:
            for parameter in strategy.model.parameters():
                parameter.grad.mul_(1.001)
        step()

    strategy.step = off


PLANTED = {
    "largest": chosen(largest, everywhere=True),
    "smallest": chosen(smallest, everywhere=True),
    "bias": chosen(bias, everywhere=True),
    "shard_of_largest": chosen(largest, everywhere=False),
    "shard_of_bias": chosen(bias, everywhere=False),
    "rate": learn_faster,
    "before": before_reduction,
    "after": after_reduction,
    "first": scaled(0, 0),
    "last": scaled(-1, -1),
    "loss": loss_of_one_rank,
    "divisor": wrong_divisor,
    "stale": stale,
    "shard": wrong_shard,
    "unreduced": no_reduction,
    "momentum": lost_momentum,
    "doubled": added_up,
    "parts": clipped_in_parts,
}


def factory(name, args, work, group):
    if name == "planted-trap":
        right = pipeline.average
        pipeline.average = lambda stage, blocks, mesh, setup: DistributedDataParallel(
            setup.placed(stage), process_group=mesh.get_group(), static_graph=True
        )
        try:
            return strategies.build(args, work, group)
        finally:
            pipeline.average = right
    kind, _, error = name.partition("-")
    error = error.partition("-")[0]
    if kind not in ("planted", "alone") or (kind == "alone" and args.precision == "fp64"):
        return strategies.build(args, work, group)
    if error == "coarse":  # gradients are reduced in another type than was asked for
        return strategies.build(Namespace(**vars(args) | {"reduce_dtype": "bf16"}), work, group)
    strategy = strategies.build(args, work, group)
    PLANTED[error](strategy, group)
    return strategy


def main(cases, verdicts):
    group = Group.join("cpu")
    for line in Path(cases).read_text().splitlines():
        # Each check collects garbage twice: looking at all of torch would take most of its time.
        gc.collect()
        gc.freeze()
        name, _, argv = line.partition(": ")
        args = option_parser().parse_args(argv.split())
        if args.float8 != "none":
            allow_fp8_on_cpus()
        args.precision = name.partition(" in ")[2] or "fp32"
        if args.mode in PIPELINES:
            args.chunks = 4  # of the 8 items in a batch
        try:
            verdict = correctness.check(args, workload(args), group, partial(factory, name), batch)
            told = verdict.payload() if verdict else {}
        except UnsupportedError as refusal:
            told = {"refused": str(refusal)}
        if group.rank == 0:
            with Path(verdicts).open("a") as file:
                print(json.dumps({"name": name} | told), file=file, flush=True)
    gc.unfreeze()
    group.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
