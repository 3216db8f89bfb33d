"""``pipeline`` and ``pdp``: each rank has stages of the model, and microbatches flow through them.

Under ``pdp`` there are several such pipelines, each with data of its own, and the ranks that have
the same stages average their gradients by ``fully_shard`` or ``replicate``. DDP cannot do that: its
reducer expects one backward pass in a step. The several passes of a pipeline make it fail an
assertion at best; at worst the gradients are wrong without an error (pytorch#144530).
"""

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed._composable.replicate_with_fsdp import ReplicateModule, replicate
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    PipelineScheduleSingle,
    ScheduleDualPipeV,
    ScheduleZBVZeroBubble,
    get_schedule_class,
)
from torch.distributed.pipelining.stage import _RecvInfo

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.marks import Waits
from benchmarks.common.strategies.batches import chunks, pipeline_size, stages_per_rank
from benchmarks.common.strategies.dtypes import told_dtypes
from benchmarks.common.strategies.parameters import local_numel
from benchmarks.common.strategies.setup import Setup
from benchmarks.common.strategies.shard_marks import ShardMarks
from benchmarks.common.strategies.sharded import policy, shard
from benchmarks.common.strategies.strategy import Replicas
from benchmarks.common.workload import Batch

SCHEDULES = (
    "GPipe",
    "1F1B",
    "Interleaved1F1B",
    "LoopedBFS",
    "InterleavedZeroBubble",
    "ZBVZeroBubble",
    "DualPipeV",
)
ZERO_BUBBLE = ("InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")
REPLICATED = ("fully_shard", "replicate")
# Whether a stage has memory for all that it receives in a step before the step begins, as in torch
# 2.11. Newer versions take it when a message is awaited.
RECEIVES_INTO_OWN = "buffer" in inspect.signature(_RecvInfo).parameters


def pipeline(setup: Setup) -> "Pipeline":
    """Stages over all ranks, or over ``--ndevice-per-proc`` of them, with replicas of each."""
    size = pipeline_size(setup.args, setup.group.world_size)
    shape = (setup.group.world_size // size, size)
    mesh = init_device_mesh(setup.device.type, shape, mesh_dim_names=("replicate", "stage"))
    workload, rank = setup.workload, mesh["stage"].get_local_rank()
    assert workload.stages is not None
    count = size * stages_per_rank(setup.args)
    parts = workload.stages(setup.model(), count)
    local = {}
    for k in indices(setup.args, rank, size):
        local[k] = _prepared(setup, parts[k], mesh)
    return Pipeline(setup, mesh, local, count)


def indices(args: argparse.Namespace, rank: int, size: int) -> list[int]:
    """The stages of a rank: every ``size``-th, or for folded schedules one there and one back."""
    if issubclass(get_schedule_class(args.schedule), ScheduleZBVZeroBubble | ScheduleDualPipeV):
        return [rank, 2 * size - 1 - rank]
    return [rank + k * size for k in range(stages_per_rank(args))]


def _prepared(setup: Setup, stage: nn.Module, mesh: DeviceMesh) -> nn.Module:
    precision, args = setup.precision, setup.args
    if args.mode == "pipeline" or args.replicated_by == "replicate":
        stage = setup.placed(stage)  # else ``shard`` does it, block by block
    setup.save_memory(stage)
    blocks = setup.blocks(stage)
    setup.compiler.apply(blocks)
    if precision.autocast is not None:
        # Around the forward pass alone: the schedule runs the backward pass within its step.
        lowered = torch.autocast(setup.device.type, precision.autocast)
        stage.forward = lowered(stage.forward)  # type: ignore[method-assign]
    if args.mode == "pdp":
        return average(stage, blocks, mesh["replicate"], setup)
    return stage


def average(stage: nn.Module, blocks: list[nn.Module], mesh: DeviceMesh, setup: Setup) -> nn.Module:
    """Let the replicas of a stage average their gradients at the end of each step."""
    if setup.args.replicated_by == "fully_shard":
        shard(stage, blocks, mesh, setup, reshard=setup.args.reshard_after_forward is True)
        return stage
    for module in (*blocks, stage):
        replicate(module, mesh=mesh, mp_policy=policy(setup.args))
    return stage


class _Stage(PipelineStage):
    """A stage that marks what is between its passes: there its rank only communicates or waits."""

    _waits: Waits | None = None
    _shard_marks: ShardMarks | None = None
    _gathers_once = True

    def mark_waits(self, waits: Waits, *, gathers_once: bool) -> None:
        """From now on, mark in ``waits`` the time outside of passes, and what FSDP gathers within.

        ``gathers_once``: FSDP does so in the forward pass of the first microbatch alone.
        """
        self._waits, self._gathers_once = waits, gathers_once
        if isinstance(self.submod, FSDPModule) and not isinstance(self.submod, ReplicateModule):
            self._shard_marks = ShardMarks(self.submod, waits)

    def forward_one_chunk(self, fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        if self._shard_marks is not None:
            self._shard_marks.is_on = fwd_chunk_id == 0 or not self._gathers_once
        return own(self._waits, super().forward_one_chunk, fwd_chunk_id, *args, **kwargs)

    def backward_one_chunk(self, *args: Any, **kwargs: Any) -> None:
        """The backward pass of a microbatch, or that of its inputs alone."""
        own(self._waits, super().backward_one_chunk, *args, **kwargs)

    def backward_weight_one_chunk(self, *args: Any, **kwargs: Any) -> None:
        own(self._waits, super().backward_weight_one_chunk, *args, **kwargs)

    def scale_grads(self, *args: Any, **kwargs: Any) -> None:
        own(self._waits, super().scale_grads, *args, **kwargs)

    def _get_init_p2p_neighbors_ops(self) -> list[dist.P2POp]:
        """The messages to neighbours with which torch 2.11 begins, except those to this rank.

        Where a folded schedule turns round, the neighbour is on the same rank, and gloo cannot send
        from a rank to itself.
        """
        ops: list[dist.P2POp] = super()._get_init_p2p_neighbors_ops()
        return [op for op in ops if op.group_peer != self.group_rank]


def own(waits: Waits | None, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what is this rank's own work: before and after it, it waits."""
    if waits is None:
        return call(*args, **kwargs)
    waits.end()
    result = call(*args, **kwargs)
    waits.begin()
    return result


class Pipeline:
    """The stages of this rank, and the schedule that drives them.

    Backward passes of early microbatches come before the forward passes of later ones.
    """

    interleaved = True
    buckets = None
    _waits: Waits | None = None

    def __init__(
        self, setup: Setup, mesh: DeviceMesh, stages: dict[int, nn.Module], count: int
    ) -> None:
        args, self._workload = setup.args, setup.workload
        replicas = Replicas(mesh["replicate"].size(), mesh["replicate"].get_local_rank())
        self.data_parallel_size, self.data_parallel_rank = replicas.size, replicas.rank
        self.model: nn.Module = nn.ModuleDict({f"_stage{k}": m for k, m in stages.items()})
        self._first, self._last = 0 in stages, count - 1 in stages
        self._device, self._compiler = setup.device, setup.compiler
        group = mesh["stage"].get_group()
        self._optimizer = setup.optimizer(self.model, group)
        self._scaler = setup.scaler()
        made = [_Stage(m, k, count, setup.device, group=group) for k, m in stages.items()]
        self._stages, self._reshards = made, args.reshard_after_forward is True
        schedule = get_schedule_class(args.schedule)
        single = issubclass(schedule, PipelineScheduleSingle)
        self._chunks = chunks(args, setup.group.world_size)
        try:
            self._schedule = schedule(made[0] if single else made, self._chunks, loss_fn=self._loss)
        except ValueError as error:
            raise UnsupportedError(
                f"{args.schedule} with {self._chunks} microbatches: {error}"
            ) from error
        self._build_s, self._dtypes = setup.elapsed(), told_dtypes(args)
        ranks = mesh["stage"].size()
        self._bubble = (ranks - 1) / (self._chunks + ranks - 1)
        self._stages_of_ranks = [indices(args, rank, ranks) for rank in range(ranks)]

    def forward_backward(self, batch: Batch) -> Tensor:
        """Run all microbatches; the loss is nan except on the rank of the last stage."""
        inputs, targets = batch
        losses: list[Tensor] | None = [] if self._last else None
        arguments = (inputs,) if self._first else ()
        if self._waits is not None:
            self._waits.begin()
        self._schedule.step(
            *arguments,
            target=targets if self._last else None,
            losses=losses,
            return_outputs=False,
        )
        if self._waits is not None:
            self._waits.end()
        if losses is None:
            return torch.full((), float("nan"), device=self._device)
        return torch.stack([loss.detach() for loss in losses]).mean()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._optimizer.step(self._scaler)

    def mark_waits(self, waits: Waits) -> bool:
        """Mark what is between the passes of its stages, and the norm of the gradients."""
        self._waits = self._optimizer.waits = waits
        for stage in self._stages:
            stage.mark_waits(waits, gathers_once=not self._reshards)
        return True

    def metrics(self) -> dict[str, Any]:
        """Parameters of this rank, microbatches, the stages of each rank of a pipeline, the bubble.

        That of GPipe and 1F1B is a fraction of (p - 1) / (m + p - 1) for p ranks and m
        microbatches (Huang et al. 2019); the other schedules have less.
        """
        return {
            "parameters_held": local_numel(self.model),
            "build_s": self._build_s,
            "chunks": self._chunks,
            "stages": self._stages_of_ranks,
            "bubble_at_most": round(self._bubble, 4),
            **self._dtypes,
            **self._optimizer.metrics(),
            **self._compiler.metrics(),
        }

    def _loss(self, output: Tensor, targets: Tensor) -> Tensor:
        assert self._workload.stage_loss is not None
        return own(self._waits, self._workload.stage_loss, output, (None, targets))
