"""The options of the strategies, each with the modes that have it."""

import argparse
from argparse import BooleanOptionalAction as OnOff
from collections.abc import Sequence
from typing import Any

from benchmarks.common import cli
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.strategies.activations import ACTIVATIONS
from benchmarks.common.strategies.compiling import BACKENDS, OPTIMIZE_DDP
from benchmarks.common.strategies.compiling import MODES as COMPILE_MODES
from benchmarks.common.strategies.data_parallel import HOOKS
from benchmarks.common.strategies.dtypes import DTYPES, FSDP_MODES, GATHERED
from benchmarks.common.strategies.float8 import RECIPES
from benchmarks.common.strategies.optimizer import OPTIMIZERS
from benchmarks.common.strategies.pipeline import REPLICATED, SCHEDULES
from benchmarks.common.strategies.sharded import PREFETCHES

MODES = ("single", "ddp", "fsdp", "hsdp", "pipeline", "pdp", "tp", "tp-fsdp")

_DDP = ("ddp",)
_FSDP = ("fsdp", "hsdp", "tp-fsdp")
_PIPELINE = ("pipeline", "pdp")
_ONE_MODEL = ("single", "ddp", "fsdp", "hsdp", "tp", "tp-fsdp")

# option: (modes that have it, arguments of argparse)
_OPTIONS: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "--accumulate": (
        _ONE_MODEL,
        {
            "type": cli.positive,
            "default": 1,
            "help": "parts of a batch, with one backward pass each",
        },
    ),
    "--bucket-cap-mb": (
        _DDP,
        {"type": cli.positive_float, "default": 25.0, "help": "size of DDP's buckets, in MiB"},
    ),
    "--gradient-as-bucket-view": (
        _DDP,
        {
            "action": OnOff,
            "default": True,
            "help": "keep gradients in the buckets instead of copying them there",
        },
    ),
    "--static-graph": (
        _DDP,
        {"action": OnOff, "help": "all steps are like the first; by default if DDP can"},
    ),
    "--broadcast-buffers": (
        _DDP,
        {"action": OnOff, "default": False, "help": "send rank 0's buffers before each forward"},
    ),
    "--find-unused-parameters": (
        _DDP,
        {"action": OnOff, "default": False, "help": "look for parameters without a gradient"},
    ),
    "--comm-hook": (
        _DDP,
        {"choices": HOOKS, "default": "none", "help": "how DDP's buckets are reduced"},
    ),
    "--powersgd-rank": (
        _DDP,
        {"type": cli.positive, "default": 1, "help": "rank of PowerSGD's matrices"},
    ),
    "--optimize-ddp": (
        _DDP,
        {
            "choices": OPTIMIZE_DDP,
            "default": "ddp_optimizer",
            "help": "with --compile: ddp_optimizer breaks the graph at buckets",
        },
    ),
    "--reshard-after-forward": (
        FSDP_MODES,
        {
            "action": OnOff,
            "help": "free gathered parameters until backward; by default those of blocks, and not "
            "under pdp",
        },
    ),
    "--mixed-precision": (
        FSDP_MODES,
        {
            "choices": GATHERED,
            "default": "auto",
            "help": "type of FSDP's gathered parameters; none: their own; auto: bf16 under amp",
        },
    ),
    "--reduce-dtype": (
        FSDP_MODES,
        {
            "choices": DTYPES,
            "default": "none",
            "help": "type in which FSDP reduces gradients; none: that of the parameters",
        },
    ),
    "--cpu-offload": (
        _FSDP,
        {"action": OnOff, "default": False, "help": "keep FSDP's shards on the host"},
    ),
    "--prefetch": (
        _FSDP,
        {
            "choices": PREFETCHES,
            "default": "noop",
            "help": "gather the next block's parameters as FSDP2 does by itself (noop), before a "
            "block computes (prehook, both passes), or after its call (posthook, forward pass)",
        },
    ),
    "--shard-size": (
        ("hsdp",),
        {"type": cli.positive, "help": "ranks that share one copy of the model; by default half"},
    ),
    "--ndevice-per-proc": (
        ("pdp",),
        {"type": cli.positive, "help": "ranks of one pipeline; by default 2"},
    ),
    "--schedule": (
        _PIPELINE,
        {"choices": SCHEDULES, "default": "1F1B", "help": "schedule of the microbatches"},
    ),
    "--chunks": (
        _PIPELINE,
        {
            "type": cli.positive,
            "help": "microbatches of a replica; by default at least 4 for each stage",
        },
    ),
    "--stages-per-rank": (
        _PIPELINE,
        {"type": cli.positive, "default": 2, "help": "stages of a rank, if the schedule loops"},
    ),
    "--replicated-by": (
        ("pdp",),
        {
            "choices": REPLICATED,
            "default": "fully_shard",
            "help": "how the replicas of a stage average gradients",
        },
    ),
    "--tp-size": (
        ("tp-fsdp",),
        {"type": cli.positive, "help": "ranks that share each matrix; by default 2"},
    ),
    "--sequence-parallel": (
        ("tp", "tp-fsdp"),
        {"action": OnOff, "default": False, "help": "shard tokens between the sharded matrices"},
    ),
}


def add_options(
    parser: argparse.ArgumentParser, modes: Sequence[str] = MODES, default: str = "ddp"
) -> None:
    """Add ``--mode`` and every option of ``modes`` to a parser."""
    add = parser.add_argument_group("strategy").add_argument
    add("--mode", choices=modes, default=default, help="how the model is spread over the devices")
    text = "values that backward needs: keep them, compute all or some again, move them to the host"
    add("--activation", choices=ACTIVATIONS, default="noop", help=text)
    text = "--activation is for every n-th block alone; of a pipeline, in each stage"
    add("--activation-every", type=cli.positive, default=1, help=text)
    text = "linear layers of the blocks multiply in fp8, scaled by tensor or by row; needs torchao"
    add("--float8", choices=RECIPES, default="none", help=text)
    add("--compile", choices=BACKENDS, default="none", help="backend of torch.compile")
    text = "mode of inductor; reduce-overhead and max-autotune replay a step from CUDA graphs"
    add("--compile-mode", choices=COMPILE_MODES, default="default", help=text)
    add("--optimizer", choices=OPTIMIZERS, default="sgd", help="sgd has momentum 0.9")
    text = "largest norm of all gradients together, to which they are scaled; by default any"
    add("--clip-norm", type=cli.positive_float, help=text)
    for option, (supporting, settings) in _OPTIONS.items():
        offered = any(mode in modes for mode in supporting)
        if offered or option in ("--optimize-ddp", "--accumulate"):
            text = f"{settings['help']} [{', '.join(supporting)}]"
            add(option, **{**settings, "help": text})
        else:
            parser.set_defaults(**{_attribute(option): settings.get("default")})


def defaults() -> dict[str, Any]:
    """The defaults of the options that say how a model is spread, by their parsed names.

    Those of its numbers are not among them: the optimizer, ``--clip-norm`` and ``--float8``.
    """
    values = {_attribute(name): settings.get("default") for name, (_, settings) in _OPTIONS.items()}
    common = {"activation": "noop", "activation_every": 1}
    return values | common | {"compile": "none", "compile_mode": "default"}


def check_options(args: argparse.Namespace) -> None:
    """Raise ``UnsupportedError`` if an option is set that the mode does not have."""
    for option, (modes, settings) in _OPTIONS.items():
        value = getattr(args, _attribute(option))
        if args.mode not in modes and value != settings.get("default"):
            raise UnsupportedError(
                f"{option} is for mode {' or '.join(modes)}, not for {args.mode}"
            )


def _attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
