"""Models that are built without memory: what is drawn, and how much is ever there."""

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.strategies import parameters
from benchmarks.common.strategies.parameters import plain_name
from benchmarks.gpt import model as gpt
from benchmarks.gpt.shares import share_of
from tests.support.live_memory import Live
from tests.support.programs import on_ranks
from tests.support.strategies import options, workload

CPU = torch.device("cpu")
# The blocks are a small part of it each, the ends a smaller one.
DEEP = gpt.Shape(layers=16, heads=8, width=64, vocabulary=32, block=16)


@pytest.fixture
def fake():
    """A process group of so many ranks, of which this process is one; the others are not there."""

    def start(ranks, rank=0):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
        return Group(CPU, rank, ranks)

    return start


def bare(shape=DEEP):
    with torch.device("meta"):
        return gpt.make(shape)


def filled(seed=0, *, at_once=True):
    model = bare()
    parts = [model] if at_once else [*gpt.blocks_of(model), model]
    for part in parts:
        parameters.fill(model, part, gpt.fill, CPU, seed)
    return {name: p.detach() for name, p in model.named_parameters()}


def build(argv, group, shape=DEEP):
    args = options(argv, batch_size=16)
    deep = replace(workload(args), make_model=partial(gpt.make, shape))
    return strategies.build(args, deep, group)


def test_the_seed_and_the_name_say_what_is_drawn():
    one, parts, other = filled(), filled(at_once=False), filled(seed=1)
    assert all(torch.equal(one[name], parts[name]) for name in one)
    assert not torch.equal(one["blocks.0.up.weight"], other["blocks.0.up.weight"])
    assert not torch.equal(one["blocks.0.up.weight"], one["blocks.1.up.weight"])


def test_what_is_drawn_is_a_gpt_2():
    values = filled()
    assert float(values["blocks.3.up.weight"].std()) == pytest.approx(0.02, rel=0.05)
    assert torch.equal(values["blocks.3.up.bias"], torch.zeros(4 * 64))
    assert torch.equal(values["head.norm.weight"], torch.ones(64))
    assert not any(p.is_meta for p in values.values())


SHARDED = {
    "fsdp": "--mode fsdp",
    "hsdp": "--mode hsdp --shard-size 4",
    "fsdp-checkpoint": "--mode fsdp --activation checkpoint",
    "tp": "--mode tp",
    "tp-sequence": "--mode tp --sequence-parallel",
    "tp-fsdp": "--mode tp-fsdp",
    "pipeline": "--mode pipeline",
    "pdp": "--mode pdp",
    "pdp-replicate": "--mode pdp --replicated-by replicate --ndevice-per-proc 4",
}


@pytest.mark.parametrize("argv", SHARDED.values(), ids=SHARDED)
def test_no_rank_ever_holds_the_model(fake, argv):
    group = fake(8, rank=3)
    with Live() as seen:
        strategy = build(argv, group)
    held, whole = 4 * strategy.metrics()["parameters_held"], 4 * DEEP.parameters
    assert held <= seen.peak < held + 0.3 * whole
    assert seen.peak < 0.6 * whole
    assert not any(p.is_meta for p in strategy.model.parameters())


def test_a_rank_of_ddp_holds_it_once():
    with Live() as seen:
        build("--mode single", Group(CPU))
    assert seen.peak == pytest.approx(4 * DEEP.parameters, rel=0.05)


@pytest.mark.parametrize("argv", SHARDED.values(), ids=SHARDED)
def test_a_rank_holds_what_the_estimate_says(fake, argv):
    group = fake(8)
    args = argparse.Namespace(**vars(options(argv)) | {"model": "deep"})
    strategy = build(argv, group)
    said = share_of(DEEP, args, 8, rank=0).kept
    # FSDP cuts rows, so that a rank may have one more of each; stages are not all the largest.
    assert strategy.metrics()["parameters_held"] == pytest.approx(said, rel=0.1)


@pytest.mark.slow
def test_two_ranks_train_a_model_that_neither_holds(tmp_path):
    done = on_ranks(Path(__file__).with_name("parameters_on_two_ranks.py"), tmp_path / "told")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "told").read_text())
    assert len(told) == 3
    for ranks in told:
        assert all(rank["peak"] < 0.75 for rank in ranks), ranks
        losses = ranks[-1]["losses"]  # of a pipeline the last rank's
        assert losses[-1] < losses[0] - 0.1, losses


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("blocks.0.up.weight", "blocks.0.up.weight"),
        ("module.blocks.0.up.weight", "blocks.0.up.weight"),
        ("_stage1.blocks.0._checkpoint_wrapped_module.up.weight", "blocks.0.up.weight"),
        ("_orig_mod.module.modules.weight", "modules.weight"),
    ],
)
def test_wrappers_are_not_in_the_name(name, expected):
    assert plain_name(name) == expected
