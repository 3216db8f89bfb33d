"""The knobs of the strategies, each with the modes that have it."""

import argparse
from argparse import BooleanOptionalAction as OnOff
from collections.abc import Sequence
from typing import Any

from benchmarks.common import activation, cli, compiling
from benchmarks.common.failure import Refusal
from benchmarks.common.strategies.data_parallel import HOOKS
from benchmarks.common.strategies.optimizer import OPTIMIZERS
from benchmarks.common.strategies.pipeline import REPLICATED, SCHEDULES
from benchmarks.common.strategies.sharded import DTYPES, PREFETCHES

MODES = ("single", "ddp", "fsdp", "hsdp", "pipeline", "pdp", "tp", "tp-fsdp")

_DDP = ("ddp",)
_FSDP = ("fsdp", "hsdp", "tp-fsdp")
_PIPELINE = ("pipeline", "pdp")
_WHOLE = ("single", "ddp", "fsdp", "hsdp", "tp", "tp-fsdp")

# option: (modes that have it, what argparse wants to know)
_KNOBS: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "--accumulate": (
        _WHOLE,
        {"type": cli.positive, "default": 1, "help": "parts of a batch, one backward pass each"},
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
            "help": "gradients live in the buckets, not beside them",
        },
    ),
    "--static-graph": (
        _DDP,
        {"action": OnOff, "help": "every step is as the first; None: where DDP can"},
    ),
    "--broadcast-buffers": (
        _DDP,
        {"action": OnOff, "default": False, "help": "rank 0's buffers to all before each forward"},
    ),
    "--find-unused-parameters": (
        _DDP,
        {"action": OnOff, "default": False, "help": "look for parameters without gradient"},
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
            "choices": compiling.OPTIMIZE_DDP,
            "default": "ddp_optimizer",
            "help": "compiled: ddp_optimizer breaks the graph at the buckets, the other does not",
        },
    ),
    "--reshard-after-forward": (
        (*_FSDP, "pdp"),
        {"action": OnOff, "help": "free gathered parameters until backward; None: not under pdp"},
    ),
    "--mixed-precision": (
        (*_FSDP, "pdp"),
        {"choices": DTYPES, "default": "none", "help": "type of FSDP's gathered parameters"},
    ),
    "--reduce-dtype": (
        (*_FSDP, "pdp"),
        {"choices": DTYPES, "default": "none", "help": "type that FSDP reduces gradients in"},
    ),
    "--cpu-offload": (
        _FSDP,
        {"action": OnOff, "default": False, "help": "FSDP's shards live on the host"},
    ),
    "--prefetch": (
        _FSDP,
        {
            "choices": PREFETCHES,
            "default": "noop",
            "help": "gather the next block's parameters: as FSDP2 does by itself, before a block "
            "computes (both passes), or after it was called (forward pass)",
        },
    ),
    "--shard-size": (
        ("hsdp",),
        {"type": cli.positive, "help": "ranks that share one copy; None: half of them"},
    ),
    "--ndevice-per-proc": (
        ("pdp",),
        {"type": cli.positive, "help": "ranks of one pipeline; None: 2"},
    ),
    "--schedule": (
        _PIPELINE,
        {"choices": SCHEDULES, "default": "1F1B", "help": "in which order microbatches flow"},
    ),
    "--chunks": (
        _PIPELINE,
        {"type": cli.positive, "help": "microbatches of a batch; None: as many as stages"},
    ),
    "--stages-per-rank": (
        _PIPELINE,
        {"type": cli.positive, "default": 2, "help": "stages of a rank, where a schedule loops"},
    ),
    "--replicated-by": (
        ("pdp",),
        {
            "choices": REPLICATED,
            "default": "fully_shard",
            "help": "how replicas of a stage average",
        },
    ),
    "--tp-size": (
        ("tp-fsdp",),
        {"type": cli.positive, "help": "ranks that share each matrix; None: 2"},
    ),
    "--sequence-parallel": (
        ("tp", "tp-fsdp"),
        {"action": OnOff, "default": False, "help": "shard tokens where matrices are not"},
    ),
}


def add_options(
    parser: argparse.ArgumentParser, modes: Sequence[str] = MODES, default: str = "ddp"
) -> None:
    """Add ``--mode`` and every knob of ``modes`` to a parser."""
    common = parser.add_argument_group("strategy")
    add = common.add_argument
    add("--mode", choices=modes, default=default, help="how the model is spread over the devices")
    text = "what backward needs: keep it, compute it anew block by block, or move it to the host"
    add("--activation", choices=activation.ACTIVATIONS, default="noop", help=text)
    add("--compile", choices=compiling.BACKENDS, default="none", help="backend of torch.compile")
    add("--optimizer", choices=OPTIMIZERS, default="sgd", help="sgd has momentum 0.9")
    for option, (having, settings) in _KNOBS.items():
        of = [mode for mode in having if mode in modes]
        if of or option in ("--optimize-ddp", "--accumulate"):
            text = f"{settings['help']} [{', '.join(having)}]"
            add(option, **{**settings, "help": text})
        else:
            parser.set_defaults(**{_dest(option): settings.get("default")})


def defaults() -> dict[str, Any]:
    """Every knob as it is when nobody turned it, by its name in the parsed options."""
    knobs = {_dest(option): settings.get("default") for option, (_, settings) in _KNOBS.items()}
    return knobs | {"activation": "noop", "compile": "none"}


def check_knobs(args: argparse.Namespace) -> None:
    """``Refusal`` where a knob is turned that the mode does not have."""
    for option, (modes, settings) in _KNOBS.items():
        if args.mode not in modes and getattr(args, _dest(option)) != settings.get("default"):
            raise Refusal(f"{option} is for mode {' or '.join(modes)}, not for {args.mode}")


def _dest(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
