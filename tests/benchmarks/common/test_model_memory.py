"""The counted memory is that of a model whose memory is known by hand, and that of a real step."""

import argparse

import pytest
import torch
from torch import nn

from benchmarks.common import model_memory, strategies
from benchmarks.common.data import split_batch
from benchmarks.common.group import Group
from benchmarks.common.workload import Workload
from tests.support.fake_gpu import fake_gpu

PARAMETERS = 8 * 16 + 16 + 16 * 4 + 4
# Of a sample: itself with its label, the result of ReLU, the output for its square; autocast keeps
# its copy of the input.
SAMPLE = 4 * 8 + 8
FP32 = SAMPLE + 4 * 16 + 4 * 4, 4
AMP = SAMPLE + 2 * 8 + 2 * 16 + 4 * 4, 2 * 16 * 4 + 4  # and its copy of the matrix behind ReLU


def workload():
    return Workload(
        make_model=lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)),
        loss=lambda model, batch: model(batch[0]).square().mean(),
        blocks=lambda model: [model[0]],
        split=split_batch,
    )


def estimate(argv, batch, ranks=4):
    parser = argparse.ArgumentParser()
    strategies.add_options(parser)
    parser.add_argument("--precision", default="fp32")
    args = parser.parse_args(argv.split())
    args.batch_size = 1
    sample = torch.zeros(8, dtype=torch.uint8), torch.tensor(1)
    with fake_gpu(80, ranks) as group:
        needs = model_memory.estimate(args, workload(), sample, group, passing=100.0)
    args.batch_size = batch
    return needs(args)


@pytest.mark.parametrize(("precision", "line"), [("fp32", FP32), ("amp", AMP)])
@pytest.mark.parametrize("batch", [1, 10, 1000])
def test_what_a_forward_pass_keeps(precision, line, batch):
    found = estimate(f"--mode ddp --precision {precision}", batch)
    each, fixed = line
    assert found.activations == each * batch + fixed + 100 * batch
    assert found.weights == found.gradients == found.optimizer == 4 * PARAMETERS


@pytest.mark.parametrize(
    ("argv", "held", "gathered"),
    [
        ("--mode single --optimizer adamw", 1, 0),
        # The ends, twice the block and its gradient in the type in which it is gathered, and once
        # in that in which it is reduced.
        ("--mode fsdp", 1 / 4, 4 * 68 + 4 * 4 * 144),
        ("--mode hsdp", 1 / 2, 4 * 68 + 4 * 4 * 144),
        ("--mode fsdp --precision amp", 1 / 4, 2 * 68 + 3 * 2 * 144 + 4 * 144),
        ("--mode pipeline", 1 / 4, 0),
        ("--mode pdp", 1 / 4, PARAMETERS / 2 * (4 + 4)),
    ],
)
def test_the_parameters_that_a_rank_holds(argv, held, gathered):
    found = estimate(argv, 8)
    assert found.weights == 4 * PARAMETERS * held + gathered
    assert found.gradients == 4 * PARAMETERS * held
    assert found.optimizer == found.gradients * (2 if "adamw" in argv else 1)


def test_a_host_is_not_asked():
    found = model_memory.estimate(None, workload(), (), Group(torch.device("cpu")))
    assert found(None).total == 0
