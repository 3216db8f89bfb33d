"""The types in which a strategy gathers parameters, reduces gradients and multiplies matrices.

Under ``amp`` FSDP by default gathers parameters in the type of autocast, which halves what is sent,
and reduces gradients in that of the parameters, fp32, as torchtitan does. The type of the reduction
is always named: PyTorch's own choice was that of the gathered parameters before 2.15, and is that
of the shards since.
"""

import argparse

import torch

from benchmarks.common.precision import DTYPE_NAMES, PRECISIONS

DTYPES = {"none": None, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
GATHERED = ("auto", *DTYPES)  # of --mixed-precision; auto: autocast's type under amp
FSDP_MODES = ("fsdp", "hsdp", "tp-fsdp", "pdp")


def gathered_dtype(args: argparse.Namespace) -> torch.dtype | None:
    """The type that FSDP casts gathered parameters to; None: they keep theirs."""
    if args.mode not in FSDP_MODES:
        return None
    if args.mixed_precision == "auto":
        return PRECISIONS[args.precision].autocast
    return DTYPES[args.mixed_precision]


def reduced_dtype(args: argparse.Namespace) -> torch.dtype:
    """The type in which replicas add their gradients; by default that of the parameters."""
    named = args.comm_hook if args.mode == "ddp" else args.reduce_dtype
    return DTYPES.get(named) or PRECISIONS[args.precision].dtype


def compute_dtype(args: argparse.Namespace) -> str:
    """The type that matrix products run in; with ``--float8`` those of the blocks' layers."""
    return dtype_without_float8(args) if args.float8 == "none" else "fp8"


def dtype_without_float8(args: argparse.Namespace) -> str:
    """The type of all other products; FSDP can gather parameters in a type of its own."""
    if args.mixed_precision in ("auto", "none", "fp32"):
        return PRECISIONS[args.precision].compute_dtype
    return str(args.mixed_precision)


def told_dtypes(args: argparse.Namespace) -> dict[str, str]:
    """The precision, and of modes that have them the types of parameters and gradients sent."""
    told = {"precision": str(args.precision)}
    if args.float8 != "none":
        told["float8"] = str(args.float8)
    if args.mode in FSDP_MODES:
        gathered = gathered_dtype(args) or PRECISIONS[args.precision].dtype
        told["gathered_dtype"] = DTYPE_NAMES[gathered]
    if args.mode in ("ddp", *FSDP_MODES):
        told["reduced_dtype"] = DTYPE_NAMES[reduced_dtype(args)]
    return told
