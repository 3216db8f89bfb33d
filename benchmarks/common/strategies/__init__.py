"""Strategies: how a model is spread over devices. Each mode wraps the model in its own way."""

import argparse
from collections.abc import Callable, Mapping

from benchmarks.common.group import SETUP_TIMEOUT, Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import data_parallel, pipeline, sharded
from benchmarks.common.strategies.checks import check
from benchmarks.common.strategies.dtypes import compute_dtype
from benchmarks.common.strategies.options import MODES, add_options, defaults
from benchmarks.common.strategies.setup import Setup
from benchmarks.common.strategies.strategy import Accumulated, Strategy, WrappedModel
from benchmarks.common.workload import Workload

__all__ = [
    "MODES",
    "Strategy",
    "add_options",
    "build",
    "build_unchecked",
    "check",
    "compute_dtype",
    "defaults",
]

_BUILD: Mapping[str, Callable[[Setup], Strategy]] = {
    "single": data_parallel.single,
    "ddp": data_parallel.ddp,
    "fsdp": sharded.fsdp,
    "hsdp": sharded.hsdp,
    "pipeline": pipeline.pipeline,
    "pdp": pipeline.pipeline,
    "tp": sharded.tp,
    "tp-fsdp": sharded.tp_fsdp,
}


def build(args: argparse.Namespace, workload: Workload, group: Group) -> Strategy:
    """Wrap the workload's model as ``args.mode`` and the options of that mode say.

    ``args`` has the options of ``add_options``, and also ``precision``, ``batch_size`` (of each
    rank), ``lr`` and ``seed``. Raises ``UnsupportedError`` for a combination that PyTorch cannot
    train.
    """
    check(args, workload, group)
    return build_unchecked(args, workload, group)


def build_unchecked(args: argparse.Namespace, workload: Workload, group: Group) -> Strategy:
    """The same for one device that stands in for a strategy, whose options were checked."""
    PRECISIONS[args.precision].activate(group.device)
    strategy = _BUILD[args.mode](Setup.of(args, workload, group))
    group.limit(SETUP_TIMEOUT)  # the groups of its mesh, which have PyTorch's own time-out
    if args.accumulate > 1:
        assert isinstance(strategy, WrappedModel)  # ``check`` has refused all others
        return Accumulated(strategy, workload, args.accumulate)
    return strategy
