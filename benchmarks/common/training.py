"""The code of the training programs around their loop, which is in the ``main.py`` of each.

``--trainer core`` trains on batches that are on the device already: the step and nothing else.
``--trainer e2e`` loads each batch as real training does and copies it to the device: the wait for a
batch is the part ``data`` of the step.
"""

import argparse
import gc
import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from benchmarks.common import cli, correctness, strategies
from benchmarks.common.clocks import clock_of
from benchmarks.common.data import LOADERS, Source
from benchmarks.common.device import reset_peak_memory
from benchmarks.common.group import Group
from benchmarks.common.marks import Waits
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.session import Session
from benchmarks.common.strategies import Strategy, compiling
from benchmarks.common.strategies.batches import (
    PIPELINES,
    parts,
    pipeline_size,
    replica_ranks,
    stages_per_rank,
)
from benchmarks.common.timing import Losses
from benchmarks.common.workload import Batch, Workload

TRAINERS = ("core", "e2e")
TRACED_STEPS = 3
CHECKED_BATCH = 8  # items of a replica in a step of --check-correctness


class WrongGradientsError(RuntimeError):
    """The measured strategy does not compute the same as one device."""


@dataclass(frozen=True)
class Task:
    """The work of one replica in one step."""

    name: str  # of the model
    items: float
    units: str  # of the items, without the "/s"
    flops: float | None  # of the model, forward and backward; None: not known
    parameters: int  # of the full model
    flops_source: str = "formula"


def add_options(
    parser: argparse.ArgumentParser,
    *,
    batch_size: int | None = 32,
    steps: int = 30,
    warmup: int = 5,
    lr: float = 0.01,
    loaders: Collection[str] = ("fixed", "pytorch"),
) -> None:
    """Add the options of the loop, of its data, and of ``--check-correctness``.

    If ``batch_size`` is None, the default is the batch size of the model.
    """
    add = parser.add_argument_group("training").add_argument
    text = "items in a step for each rank; a replica of several ranks has as many times more"
    if batch_size is None:
        text += "; by default the model's own"
    add("--batch-size", type=cli.positive, default=batch_size, help=text)
    text = "take a smaller batch, the largest that fits, where --batch-size does not fit the device"
    add("--fit-batch", action="store_true", help=text)
    parser.set_defaults(fitted={})  # what ``fitting.fit`` tells of a smaller batch
    add("--steps", type=cli.positive, default=steps, help="number of measured steps")
    cli.add_seconds(add, "--steps")
    text = "steps before the measured ones; at least one, because the first compiles and allocates"
    add("--warmup", type=cli.positive, default=warmup, help=text)
    text = "core: batches are on the device already; e2e: a loader, and copies to the device"
    add("--trainer", choices=TRAINERS, help=f"{text}; by default as --loader says, else core")
    text = "; ".join(f"{name}: {LOADERS[name]}" for name in loaders)
    add("--loader", choices=loaders, help=f"{text}; by default fixed for core, pytorch for e2e")
    add("--num-workers", type=cli.natural, default=2, help="worker processes of the loader")
    text = "amp: autocast to bf16; amp-fp16: autocast to fp16, with a gradient scaler"
    add("--precision", "--dtype", choices=PRECISIONS, default="fp32", help=text)
    add("--lr", type=cli.positive_float, default=lr, help="learning rate")
    add("--seed", type=int, default=0, help="seed of weights and data")
    text = "after measuring, write a Chrome trace of a few steps of each rank"
    add("--profile", action="store_true", help=text)
    correctness.add_options(parser)


def check_correctness(
    run: Session, args: argparse.Namespace, workload: Workload, source: Source
) -> None:
    """Under ``--check-correctness``, compare the strategy with one device and report the verdict.

    Options, model and data are those of the check, which may be smaller than what is measured. A
    strategy that does not pass is measured all the same, and then the run fails.
    """
    if not args.check_correctness:
        return
    verdict = correctness.check(args, workload, run.group, strategies.build, source.batch)
    if verdict is not None:
        run.report(correctness=verdict.payload())
        if not verdict.ok:
            wrong = f"mode {args.mode} does not train as one device does: {verdict.differences()}"
            run.fail_at_end(WrongGradientsError(f"{wrong}; {verdict.advice()}"))
    if args.compile != "none":
        compiling.forget()  # graphs of the check would count as recompilations
    gc.collect()  # the models of the check may be cycles
    reset_peak_memory(run.device)


def few(args: argparse.Namespace, group: Group) -> argparse.Namespace:
    """The options with a smaller batch, which still has something for each of its parts."""
    small = argparse.Namespace(**vars(args))
    if args.mode in PIPELINES and not args.chunks:  # one for each stage is enough
        small.chunks = pipeline_size(args, group.world_size) * stages_per_rank(args)
    count, ranks = parts(small, group.world_size), replica_ranks(args, group.world_size)
    least = count // math.gcd(count, ranks)  # items of a rank, so that each part has some
    most = least * max(CHECKED_BATCH // (least * ranks), 1)
    small.batch_size = min(args.batch_size, most)
    return small


def timed_steps(
    run: Session,
    args: argparse.Namespace,
    task: Task,
    strategy: Strategy,
    batches: Iterator[Batch],
) -> Iterator[Batch]:
    """The batches of the warm-up and of the measured steps; the body of a ``for`` is timed.

    The body calls ``run.lap`` after its forward pass (not if the strategy is interleaved), after
    its backward pass and after its update. What it does then is the part ``host``.
    """
    passes = ("forward_backward",) if strategy.interleaved else ("forward", "backward")
    losses = None  # those of rank 0
    if args.mode in PIPELINES:  # the ranks of the first replica, of which the last has the loss
        losses = Losses.KNOWN if strategy.data_parallel_rank == 0 else Losses.NONE
    waits = Waits(clock_of(run.device))
    return run.steps(
        batches,
        work=task.items,
        replicas=strategy.data_parallel_size,
        units=task.units,
        count=args.steps,
        warmup=args.warmup,
        seconds=args.seconds,
        parts=(*passes, "optimizer", "host"),
        waits=waits if strategy.mark_waits(waits) else None,
        losses=losses,
        few_tell_cost=args.compile == "none",  # without DDP's hooks it may be compiled again
    )


def report(
    run: Session, args: argparse.Namespace, task: Task, strategy: Strategy, **more: Any
) -> None:
    """Report from rank 0 the model, with ``more`` facts, its speed, and the strategy's figures."""
    if run.group.rank == 0:
        replicas = strategy.data_parallel_size
        facts = model_facts(run, task, args.mode, args.batch_size, replicas)
        facts |= strategy.metrics() | {"activation": args.activation} | args.fitted | more
        run.report(model=facts, compute_dtype=strategies.compute_dtype(args))


def model_facts(
    run: Session, task: Task, mode: str, batch_size: int, replicas: int
) -> dict[str, Any]:
    """The model and its speed: FLOP are those of the model, without recomputation."""
    ranks = run.group.world_size
    facts: dict[str, Any] = {
        "name": task.name,
        "mode": mode,
        "parameters": task.parameters,
        "ranks": ranks,
        "replicas": replicas,
        "batch_size": batch_size,
        "global_batch_size": batch_size * ranks,
        "step_ms": round(run.mean_ms, 4),
        "first_step_s": round(run.first_step_s, 4),
    }
    if task.flops is not None:
        flops = task.flops * replicas
        facts["flops_per_step"] = flops
        facts["flops_source"] = task.flops_source
        facts["tflops_per_gpu"] = flops / ranks / (run.mean_ms / 1e3) / 1e12
    return facts


def profile(
    run: Session,
    args: argparse.Namespace,
    task: Task,
    strategy: Strategy,
    batches: Iterator[Batch],
) -> None:
    """Under ``--profile``, train a few more steps and write a trace of this rank.

    It has Chrome's format, for chrome://tracing or ui.perfetto.dev. The file is
    ``<model>-<mode>.rank<rank>.trace.json`` in the folder ``$MILABENCH_TRACES``, by default the
    current one.
    """
    if not args.profile:
        return
    activities = [torch.profiler.ProfilerActivity.CPU]
    if run.device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    elif run.device.type == "xpu":
        activities.append(torch.profiler.ProfilerActivity.XPU)
    folder = Path(os.environ.get("MILABENCH_TRACES") or ".")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{task.name}-{args.mode}.rank{run.group.rank}.trace.json"
    strategy.forward_backward(next(batches))  # warms the profiler up
    strategy.step()
    with torch.profiler.profile(activities=activities, acc_events=True) as trace:  # in one cycle
        for k in range(TRACED_STEPS):
            with torch.profiler.record_function(f"step {k}"):
                strategy.forward_backward(next(batches))
                strategy.step()
    trace.export_chrome_trace(str(path))
    run.report(trace=str(path))
