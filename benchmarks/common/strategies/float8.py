"""``--float8``: linear layers that multiply in fp8, by torchao; training is otherwise in bf16.

The layers of the blocks are swapped, as torchtitan does, and what is around them is not: neither
the scores of words nor the embedding. Inputs, weights and gradients are scaled to fp8 just before
each product, by the largest value of the tensor, or of each row; its result is in bf16 again.
Parameters, gradients and what ranks send each other keep their types.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import nn

from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.precision import require_fp8
from benchmarks.common.strategies.batches import tensor_size
from benchmarks.common.strategies.dtypes import dtype_without_float8
from benchmarks.common.workload import Workload

RECIPES = ("none", "tensorwise", "rowwise")  # the names are torchao's
MULTIPLE = 16  # cuBLAS takes fp8 matrices whose sides are multiples of this


def check(args: argparse.Namespace, workload: Workload, group: Group) -> None:
    """Raise ``SkippedError`` without fp8 or torchao, ``UnsupportedError`` if nothing can use it."""
    if args.float8 == "none":
        return
    others = dtype_without_float8(args)
    if others != "bf16":
        raise UnsupportedError(
            f"--float8 is for linear layers that compute in bf16, and here they do in {others}"
        )
    require_fp8(group.device)
    try:
        import torchao.float8  # noqa: F401
    except ImportError as error:
        raise SkippedError(f"--float8 needs torchao ({error}): pip install torchao") from None
    with torch.device("meta"):
        blocks = workload.blocks(workload.make_model())
    if not any(convertible(blocks, tensor_size(args, group.world_size))):
        raise UnsupportedError(
            f"--float8 has nothing to do: no block has a linear layer whose sides are multiples of "
            f"{MULTIPLE} on each rank"
        )


def convertible(blocks: Iterable[nn.Module], shards: int = 1) -> list[nn.Linear]:
    """The layers of ``blocks`` that can multiply in fp8.

    A subclass of ``nn.Linear`` may be a part of another layer, which uses its weights alone.
    ``shards`` ranks share either side of a matrix.
    """
    found = []
    for block in blocks:
        for layer in block.modules():
            if type(layer) is nn.Linear and fits(layer, shards):
                found.append(layer)
    return found


def fits(layer: nn.Linear, shards: int) -> bool:
    """Whether the sides of a matrix are multiples of ``MULTIPLE``, in each of its shards."""
    least = MULTIPLE * shards
    return layer.in_features % least == 0 and layer.out_features % least == 0


def swap(blocks: Iterable[nn.Module], recipe: str, shards: int) -> None:
    """Let the linear layers of ``blocks`` multiply in fp8; their parameters keep their names.

    The number of tokens may be any: torchao pads it to a multiple of ``MULTIPLE`` for the products
    that give the gradients of weights, and does nothing where it is one.
    """
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    if recipe == "rowwise":
        # Activations that inductor computes again, but rounds in other places, give NaN
        # (pytorch#150859); torchtitan does the same.
        from torch._inductor import config as inductor

        inductor.emulate_precision_casts = True
    config = replace(Float8LinearConfig.from_recipe_name(recipe), pad_inner_dim=True)
    blocks = list(blocks)
    chosen = {id(layer) for layer in convertible(blocks, shards)}
    for block in blocks:
        convert_to_float8_training(
            block, config=config, module_filter_fn=lambda layer, _: id(layer) in chosen
        )
