"""One device on the batches of all replicas, and the error of its own rounding."""

import argparse
from dataclasses import replace
from functools import partial

import pytest
import torch

from benchmarks.common.gradients import relative_error
from benchmarks.common.reference import Reference, gradient_type
from benchmarks.gpt import llama
from benchmarks.gpt.shapes import Llama
from tests.support.strategies import batch, option_parser, workload

CPU = torch.device("cpu")


def reference(argv="", precision="fp64", replicas=2, parts=1):
    args = option_parser().parse_args(["--mode", "ddp", *argv.split()])
    args.precision = precision
    return Reference(args, workload(args), CPU, replicas, parts, batch)


def test_parts_of_a_batch_add_up_to_it():
    whole, parts = reference().train(3), reference(parts=4).train(3)
    assert whole.losses == pytest.approx(parts.losses, rel=1e-12)
    assert relative_error(parts.gradients, whole.gradients) < 1e-13


def test_replicas_are_averaged():
    one, two = reference(replicas=1).train(1), reference(replicas=2).train(1)
    first, both = reference(replicas=1).gradients(0), reference(replicas=2).gradients(0)
    assert relative_error(one.gradients, first.gradients) == 0
    assert relative_error(two.gradients, both.gradients) < 1e-15
    assert relative_error(two.gradients, one.gradients) > 0.1


@pytest.mark.parametrize(
    ("argv", "precision", "low", "high"),
    [
        ("", "fp32", 0, 1e-7),
        ("", "amp", 0, 1e-7),  # gradients are added in fp32
        ("", "bf16", 1e-3, 4e-3),
        ("--comm-hook bf16", "fp32", 1e-3, 4e-3),
        ("--comm-hook fp16", "fp32", 1e-4, 5e-4),
        ("--mode tp", "bf16", 3e-3, 3e-2),  # other operations than one device
        ("--mode tp", "amp", 3e-3, 3e-2),
        ("--mode tp", "fp32", 0, 1e-5),
        ("--compile eager", "amp", 0, 1e-7),  # Dynamo alone: the same operations
        ("--compile inductor", "amp", 3e-3, 3e-2),
    ],
)
def test_the_error_of_rounding(argv, precision, low, high):
    error = reference(argv, precision).gradients(0).relative_rounding()
    assert low <= error <= high


def test_a_copy_in_sixteen_bits_is_computed_with():
    exact = reference("--mode fsdp", "fp32").gradients(0)
    argv = "--mode fsdp --mixed-precision bf16 --reduce-dtype bf16"
    lowered = reference(argv, "fp32").gradients(0)
    assert 1e-3 < relative_error(lowered.gradients, exact.gradients) < 3e-2
    assert 1e-3 < lowered.relative_rounding() < 4e-3


def test_a_gradient_is_rounded_to_the_gathered_type_in_the_error_alone():
    shape = Llama(layers=1, heads=4, width=32, vocabulary=64, block=16, groups=2, hidden=64)
    lowered = reference("--mode fsdp --mixed-precision bf16", "fp32")
    made = replace(lowered.workload, make_model=partial(llama.make, shape))
    found = replace(lowered, workload=made).gradients(0)
    of_norm = found.gradients["head.norm.weight"]  # RMSNorm adds it up in fp32
    assert 1e-4 < found.rounding["head.norm.weight"].norm() / of_norm.norm() < 4e-3
    # a matrix product is in bf16 anyway
    assert not found.rounding["blocks.0.attention.qkv.weight"].any()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"precision": "amp"}, None),
        ({"precision": "bf16", "comm_hook": "fp16"}, torch.bfloat16),
        ({"comm_hook": "fp16"}, torch.float16),
        ({"mixed_precision": "bf16", "reduce_dtype": "fp32"}, None),
        ({"mixed_precision": "bf16"}, None),
        ({"reduce_dtype": "fp16"}, torch.float16),
    ],
)
def test_the_coarsest_type_of_a_gradient(given, expected):
    plain = {"precision": "fp32", "comm_hook": "none", "mixed_precision": "none"}
    args = argparse.Namespace(**plain | {"reduce_dtype": "none"} | given)
    assert gradient_type(args) is expected
