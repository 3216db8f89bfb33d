"""Combinations that PyTorch cannot train: one sentence each, before anything is built."""

import argparse

import torch

from benchmarks.common.failure import SkippedError, UnsupportedError, instead
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import float8
from benchmarks.common.strategies.batches import (
    MICROBATCHES,
    PIPELINES,
    parts,
    pipeline_size,
    replica_batch,
    stages_per_rank,
    tensor_size,
)
from benchmarks.common.strategies.compiling import GRAPHS
from benchmarks.common.strategies.options import check_options
from benchmarks.common.strategies.pipeline import ZERO_BUBBLE
from benchmarks.common.strategies.sharded import shard_size
from benchmarks.common.workload import Workload


def check(args: argparse.Namespace, workload: Workload, group: Group) -> None:
    """Raise ``UnsupportedError`` for a combination that would fail, hang, or train wrongly.

    It is a ``SkippedError`` if other devices, or another number of ranks, could train it.
    """
    check_options(args)
    PRECISIONS[args.precision].activate(group.device)
    _check_model(args, workload)
    _check_mesh(args, group.world_size)
    if args.mode in PIPELINES:
        _check_pipeline(args)
    _check_batch(args, group.world_size)
    _check_activation(args, workload, group.world_size)
    _check_precision(args)
    float8.check(args, workload, group)
    _check_compile_mode(args, group)
    if args.activation == "offload" and args.compile == "inductor":
        # Measured on 2.15: "expected size 4==4, stride 16==1 at dim=1".
        raise UnsupportedError(
            "--activation offload brings tensors back in another layout than --compile inductor "
            "left them in: use checkpoint or selective"
        )
    if args.comm_hook == "powersgd" and group.device.type == "cpu":
        raise UnsupportedError("PowerSGD fails on gloo, which CPUs use: choose another --comm-hook")
    if args.mode == "ddp":
        _check_ddp(args)


def _check_ddp(args: argparse.Namespace) -> None:
    breaks = args.compile != "none" and args.optimize_ddp == "ddp_optimizer"
    if args.static_graph and args.find_unused_parameters:
        raise UnsupportedError(
            "--static-graph finds unused parameters itself: drop one of the two options"
        )
    if args.static_graph and args.accumulate > 1:
        raise UnsupportedError(
            "--static-graph expects every backward pass to reduce: not with --accumulate"
        )
    if breaks and args.bucket_cap_mb < 1:
        raise UnsupportedError("Dynamo's first bucket has 1 MiB: --bucket-cap-mb cannot be less")


def _check_compile_mode(args: argparse.Namespace, group: Group) -> None:
    mode = args.compile_mode
    if mode != "default" and args.compile != "inductor":
        raise UnsupportedError(f"--compile-mode {mode} is inductor's: add --compile inductor")
    if mode not in GRAPHS:
        return
    instead = "use max-autotune-no-cudagraphs"
    if group.device.type != "cuda":
        raise UnsupportedError(
            f"--compile-mode {mode} replays CUDA graphs, which {group.device.type} has not: "
            f"{instead}"
        )
    if args.mode != "single":
        # pytorch#113809, #140395: DDP fails. FSDP gathers parameters at other addresses each time.
        raise UnsupportedError(
            f"--compile-mode {mode} replays CUDA graphs, in which parameters and gradients stay in "
            f"place: not under mode {args.mode}; {instead}"
        )
    if args.accumulate > 1:
        # pytorch#169545; without an error message the gradients are those of the last part alone.
        raise UnsupportedError(
            f"--compile-mode {mode} replays CUDA graphs, which overwrite the gradients that "
            f"--accumulate adds up: {instead}"
        )


def _check_model(args: argparse.Namespace, workload: Workload) -> None:
    if args.mode in PIPELINES and workload.stages is None:
        raise UnsupportedError(f"this model cannot be cut into stages, as mode {args.mode} needs")
    if args.mode in ("tp", "tp-fsdp") and workload.tp_plan is None:
        raise UnsupportedError(
            f"this model has no plan for tensor parallelism, as mode {args.mode} needs"
        )


def _check_mesh(args: argparse.Namespace, ranks: int) -> None:
    sizes = {
        "hsdp": ("--shard-size", shard_size),
        "pdp": ("--ndevice-per-proc", pipeline_size),
        "tp-fsdp": ("--tp-size", tensor_size),
    }
    if args.mode in sizes:
        option, size = sizes[args.mode]
        if ranks % size(args, ranks):
            others = instead(ranks, lambda count: count % size(args, count) == 0)
            raise SkippedError(
                f"{ranks} ranks cannot be divided by {option} {size(args, ranks)}: {others}"
            )


def _check_batch(args: argparse.Namespace, ranks: int) -> None:
    batch, count = replica_batch(args, ranks), parts(args, ranks)
    if args.mode in PIPELINES and not args.chunks and batch < count:
        least = MICROBATCHES * stages_per_rank(args)
        raise UnsupportedError(
            f"{MICROBATCHES} microbatches for each stage need a --batch-size of {least}, not "
            f"{args.batch_size}: raise it, or choose the microbatches by --chunks"
        )
    if batch % count:
        option = "--chunks" if args.mode in PIPELINES else "--accumulate"
        raise UnsupportedError(f"a batch of {batch} cannot be divided by {option} {count}")


def _check_activation(args: argparse.Namespace, workload: Workload, ranks: int) -> None:
    every = args.activation_every
    if every == 1:
        return
    if args.activation == "noop":
        raise UnsupportedError(
            "--activation-every says which blocks --activation is for: add --activation checkpoint"
        )
    with torch.device("meta"):
        model = workload.make_model()
    parts, whose = [model], "the model"
    if args.mode in PIPELINES:
        assert workload.stages is not None
        stages = pipeline_size(args, ranks) * stages_per_rank(args)
        parts, whose = workload.stages(model, stages), "a stage"
    most = max(len(workload.blocks(part)) for part in parts)
    if every > most:
        raise UnsupportedError(
            f"--activation-every {every} is for no block: {whose} has {most} at most"
        )


def _check_precision(args: argparse.Namespace) -> None:
    if args.precision == "amp-fp16" and args.mode not in ("single", "ddp"):
        raise UnsupportedError(
            f"under {args.mode} a rank's gradient scaler sees only its own part of the gradients: "
            "use --precision amp"
        )
    lowered = args.mixed_precision not in ("auto", "none")
    if lowered and args.precision not in ("fp32", "tf32", "amp"):
        raise UnsupportedError(
            f"--mixed-precision lowers fp32 parameters: it does not go with {args.precision}"
        )
    if lowered and args.precision == "amp" and args.mixed_precision == "fp16":
        raise UnsupportedError(
            "--mixed-precision fp16 does not go with amp, which computes in bf16"
        )


def _check_pipeline(args: argparse.Namespace) -> None:
    folded = args.schedule in ("ZBVZeroBubble", "DualPipeV")
    if folded and args.stages_per_rank != 2:
        raise UnsupportedError(
            f"{args.schedule} has two stages on each rank, not {args.stages_per_rank}"
        )
    if args.schedule in ZERO_BUBBLE and args.compile != "none":
        raise UnsupportedError(
            f"{args.schedule} computes the gradients of inputs and weights apart, "
            "which compiled modules cannot"
        )
    replicas = args.mode == "pdp" and args.replicated_by == "fully_shard"
    if args.schedule in ZERO_BUBBLE and replicas and args.reshard_after_forward:
        # Measured on 2.15: relative error of the gradients 0.4 to 0.9, without any error message.
        raise UnsupportedError(
            f"{args.schedule} trains with wrong gradients where parameters are resharded after "
            "forward: drop --reshard-after-forward"
        )
