"""The training loop that every program shares.

``core`` trains on one batch that is on the device already: the step and nothing else. ``e2e`` loads
each batch as real training does, and copies it to the device: what it waits for is the share
``data`` of the step.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from benchmarks.common import cli, correctness, profile, strategies
from benchmarks.common.data import Source
from benchmarks.common.device import reset_peak_memory
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.session import Session
from benchmarks.common.strategies.strategy import Phased, Strategy
from benchmarks.common.timing import Losses
from benchmarks.common.workload import Batch, Workload

TRAINERS = ("core", "e2e")
PIPELINES = ("pipeline", "pdp")


class WrongGradientsError(RuntimeError):
    """A strategy was measured that does not compute what one device computes."""


@dataclass(frozen=True)
class Task:
    """What one replica does in a step."""

    name: str  # of the model
    items: float
    units: str  # of the items, without the "/s"
    flops: float | None  # of the model, forward and backward; None: not known
    parameters: int  # of the whole model
    flops_source: str = "formula"


def add_options(
    parser: argparse.ArgumentParser,
    *,
    batch_size: int = 32,
    steps: int = 30,
    warmup: int = 5,
    lr: float = 0.01,
    loaders: Sequence[str] = ("fixed", "pytorch"),
) -> None:
    """The options of the loop, of its data, and of ``--check-correctness``."""
    add = parser.add_argument_group("training").add_argument
    add("--batch-size", type=cli.positive, default=batch_size, help="items of one replica's step")
    add("--steps", type=cli.positive, default=steps, help="steps measured")
    text = "steps before them; at least one: the first compiles and allocates"
    add("--warmup", type=cli.positive, default=warmup, help=text)
    text = "core: batches that are on the device; e2e: a loader, and copies to the device"
    add("--trainer", choices=TRAINERS, help=f"{text}; None: what --loader means, else core")
    text = "fixed: one batch; synthetic: two in turn; pytorch: a DataLoader of made samples"
    if "image-folder" in loaders:
        text += "; image-folder: a DataLoader of the images in --data"
    add("--loader", choices=loaders, help=f"{text}; None: fixed for core, pytorch for e2e")
    add("--num-workers", type=cli.natural, default=2, help="processes of the loader")
    text = "amp: autocast to bf16; amp-fp16: to fp16, with a gradient scaler"
    add("--precision", "--dtype", choices=PRECISIONS, default="fp32", help=text)
    add("--lr", type=cli.positive_float, default=lr, help="learning rate")
    add("--seed", type=int, default=0, help="seed of weights and data")
    text = "after measuring, write a Chrome trace of a few steps of each rank"
    add("--profile", action="store_true", help=text)
    correctness.add_options(parser)


def train(
    run: Session, args: argparse.Namespace, workload: Workload, source: Source, task: Task
) -> None:
    """Check the strategy if asked to, build it, measure it, and tell what it did.

    A strategy that does not pass the check is measured all the same, and then the run fails.
    """
    if args.check_correctness:
        _check(run, args, workload, source)
    strategy = strategies.build(args, workload, run.group)
    stream = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
    step = stepper(strategy, run.lap)
    for batch in run.steps(
        stream,
        work=task.items,
        replicas=strategy.data_parallel_size,
        units=task.units,
        count=args.steps,
        warmup=args.warmup,
        parts=parts(strategy),
        losses=_losses(args, strategy),
    ):
        run.watch(step(batch))
    if run.group.rank == 0:
        run.tell(model=_model(run, args, strategy, task))
    if args.profile:
        again = stepper(strategy, lap=lambda: None)
        name = f"{task.name}-{args.mode}"
        path = profile.trace(name, run.group.rank, run.device, lambda: again(next(stream)))
        run.tell(trace=str(path))


def parts(strategy: Strategy) -> Sequence[str]:
    """What the step of a strategy consists of, beside the wait for data."""
    first = ("forward", "backward") if isinstance(strategy, Phased) else ("forward_backward",)
    return (*first, "optimizer")


def stepper(strategy: Strategy, lap: Callable[[], None]) -> Callable[[Batch], Tensor]:
    """One training step, as a function of its batch; it calls ``lap`` between its parts."""
    if isinstance(strategy, Phased):
        return partial(_phased_step, strategy, lap)
    return partial(_interleaved_step, strategy, lap)


def _phased_step(strategy: Phased, lap: Callable[[], None], batch: Batch) -> Tensor:
    loss = strategy.forward(batch)
    lap()
    strategy.backward(loss)
    lap()
    strategy.step()
    return loss


def _interleaved_step(strategy: Strategy, lap: Callable[[], None], batch: Batch) -> Tensor:
    loss = strategy.forward_backward(batch)
    lap()
    strategy.step()
    return loss


def _losses(args: argparse.Namespace, strategy: Strategy) -> Losses | None:
    """Who tells the loss: rank 0; of pipelines the ranks of the first replica that have it."""
    if args.mode not in PIPELINES:
        return None
    return Losses.KNOWN if strategy.data_parallel_rank == 0 else Losses.NONE


def _check(run: Session, args: argparse.Namespace, workload: Workload, source: Source) -> None:
    verdict = correctness.check(args, workload, run.group, strategies.build, source.batch)
    if verdict is not None:
        run.tell(correctness=verdict.payload())
        if not verdict.ok:
            run.fail(
                WrongGradientsError(
                    f"mode {args.mode} does not train as one device does: gradients differ by "
                    f"{verdict.gradient_error:.2g}, losses by {verdict.loss_error:.2g} (relative, "
                    f"at most {verdict.tolerance:.2g}), equal replicas: {verdict.replicas_equal}"
                )
            )
    reset_peak_memory(run.device)


def _model(
    run: Session, args: argparse.Namespace, strategy: Strategy, task: Task
) -> dict[str, Any]:
    """What was trained, and how fast: operations are those of the model, not of recomputation."""
    ranks, replicas = run.group.world_size, strategy.data_parallel_size
    facts: dict[str, Any] = {
        "name": task.name,
        "mode": args.mode,
        "parameters": task.parameters,
        "ranks": ranks,
        "replicas": replicas,
        "batch_size": args.batch_size,
        "step_ms": round(run.mean_ms, 4),
        "first_step_s": round(run.first_step_s, 4),
    }
    if task.flops is not None:
        flops = task.flops * replicas
        facts |= {
            "flops_per_step": flops,
            "flops_source": task.flops_source,
            "tflops_per_gpu": flops / ranks / (run.mean_ms / 1e3) / 1e12,
        }
    return facts | strategy.metrics()
