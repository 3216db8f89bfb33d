"""``single`` and ``ddp``: every rank has the full model."""

import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from benchmarks.common.marks import Waits
from benchmarks.common.strategies.bucket_marks import BucketMarks, Hook
from benchmarks.common.strategies.gradient_marks import GradientMarks
from benchmarks.common.strategies.setup import Setup
from benchmarks.common.strategies.strategy import Replicas, WrappedModel

# The newer name concerns forward passes only; the copy when DDP is made is not affected.
BUFFERS = (
    "forward_sync_buffers"
    if "forward_sync_buffers" in inspect.signature(DistributedDataParallel.__init__).parameters
    else "broadcast_buffers"
)
HOOKS: Mapping[str, Hook | None] = {
    "none": None,
    "allreduce": default_hooks.allreduce_hook,
    "fp16": default_hooks.fp16_compress_hook,
    "bf16": default_hooks.bf16_compress_hook,
    "powersgd": powerSGD_hook.powerSGD_hook,
}


def single(setup: Setup) -> WrappedModel:
    """One process, no wrapper: the reference."""
    model = setup.placed(setup.model())
    setup.save_memory(model)
    setup.compiler.apply([model])
    return WrappedModel(model, setup, Replicas())


def ddp(setup: Setup) -> WrappedModel:
    """DistributedDataParallel, with all of its options."""
    args = setup.args
    model = setup.placed(setup.model())
    setup.save_memory(model)
    wrapped = DistributedDataParallel(
        model,
        device_ids=setup.group.device_ids,
        bucket_cap_mb=args.bucket_cap_mb,
        gradient_as_bucket_view=args.gradient_as_bucket_view,
        static_graph=static_graph(setup),
        find_unused_parameters=args.find_unused_parameters,
        **{BUFFERS: args.broadcast_buffers},
    )
    buckets = BucketMarks(wrapped, *_hook(args.comm_hook, args.powersgd_rank))
    setup.compiler.apply([model])
    return _DDP(wrapped, setup, Replicas(setup.group.world_size, setup.group.rank), buckets)


def static_graph(setup: Setup) -> bool:
    """Whether DDP's graph is static: by default yes, unless the model is compiled or DDP cannot.

    DDP cannot with accumulation, where it fails an assertion: a static graph expects every backward
    pass to reduce.
    """
    args = setup.args
    if args.static_graph is not None:
        return bool(args.static_graph)
    return not args.find_unused_parameters and args.compile == "none" and args.accumulate == 1


class _DDP(WrappedModel):
    model: DistributedDataParallel
    buckets: BucketMarks
    _marks: GradientMarks | None = None

    def __init__(
        self, model: nn.Module, setup: Setup, replicas: Replicas, buckets: BucketMarks
    ) -> None:
        super().__init__(model, setup, replicas)
        self.buckets = buckets

    def mark_waits(self, waits: Waits) -> bool:
        self._marks = GradientMarks(self.model, waits)
        return True

    def backward(self, loss: Tensor) -> None:
        self.buckets.begins()
        super().backward(loss)
        if self._marks is not None:
            self._marks.passed()

    def metrics(self) -> dict[str, Any]:
        """Also the number of buckets.

        Not the times that DDP logs: it samples the first 10 steps and then every 100th, so most of
        its samples are of the warm-up.
        """
        seen = self.model._get_ddp_logging_data()
        sizes = seen.get("rebuilt_bucket_sizes") or seen.get("bucket_sizes") or ""
        return super().metrics() | {"buckets": len([size for size in sizes.split(",") if size])}

    def unsynced(self) -> AbstractContextManager[Any]:
        return self.model.no_sync()


def _hook(name: str, rank: int) -> tuple[Hook | None, Any]:
    state = None
    if name == "powersgd":
        # From the second step on, because a run may be shorter than its usual 1000 steps.
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=rank, start_powerSGD_iter=2
        )
    return HOOKS[name], state
