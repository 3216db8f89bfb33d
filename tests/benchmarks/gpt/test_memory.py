import argparse

import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.gpt import memory as gpt_memory
from benchmarks.gpt import shapes

SHAPE = shapes.shape_of("GPTXXXL", 3072, 128)


def options(**given):
    parser = argparse.ArgumentParser()
    strategies.add_options(parser)
    args = parser.parse_args([])
    asked = {"precision": "fp32", "batch_size": 10, "model": "GPTXXXL"} | given
    return argparse.Namespace(**vars(args) | asked)


def estimate(ranks=8, **given):
    return gpt_memory.estimate(SHAPE, options(**given), ranks)


def test_ddp_holds_all_of_it():
    memory = estimate(mode="ddp")
    assert memory.weights == memory.gradients == memory.optimizer == 4 * SHAPE.parameters
    assert estimate(mode="ddp", optimizer="adamw").optimizer == 8 * SHAPE.parameters
    assert estimate(mode="ddp", precision="bf16").weights == 2 * SHAPE.parameters


@pytest.mark.parametrize("mode", ["fsdp", "hsdp", "pipeline", "pdp", "tp", "tp-fsdp"])
def test_every_other_mode_needs_less(mode):
    assert estimate(mode=mode).total < estimate(mode="ddp").total
    assert estimate(mode=mode, ranks=16).total < estimate(mode=mode, ranks=4).total


def test_activations_that_are_not_kept():
    kept, again = (estimate(mode="ddp", activation=a).activations for a in ("noop", "checkpoint"))
    assert again < kept / 5


def test_shards_on_the_host():
    assert estimate(mode="fsdp", cpu_offload=True).optimizer == 0


def test_what_cannot_fit_is_refused(monkeypatch):
    monkeypatch.setattr(gpt_memory, "capacity", lambda device: 80 * gpt_memory.GIB)
    group = Group(torch.device("cpu"), 0, 8)
    with pytest.raises(
        UnsupportedError, match=r"GPTXXXL in mode ddp on 8 ranks needs about 13\d\.\d GiB"
    ):
        gpt_memory.checked_estimate(
            SHAPE, options(mode="ddp", optimizer="sgd", batch_size=64), group
        )
    gpt_memory.checked_estimate(SHAPE, options(mode="fsdp"), group)


def test_ranks_share_the_host(monkeypatch):
    alone = gpt_memory.capacity(torch.device("cpu"))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert gpt_memory.capacity(torch.device("cpu")) == alone / 4


def test_what_is_offloaded_must_fit_the_host(monkeypatch):
    monkeypatch.setattr(
        gpt_memory, "capacity", lambda device: (15 if device.type == "cpu" else 80) * gpt_memory.GIB
    )
    asked = options(mode="fsdp", cpu_offload=True)
    with pytest.raises(
        UnsupportedError, match=r"on 4 ranks needs about 18\.\d GiB of the host .* it has 15\.0"
    ):
        gpt_memory.checked_estimate(SHAPE, asked, Group(torch.device("cuda", 0), 0, 4))
    gpt_memory.checked_estimate(SHAPE, asked, Group(torch.device("cuda", 0), 0, 8))


@pytest.mark.parametrize(
    ("ranks", "argv"),
    [
        (1024, {"mode": "fsdp"}),
        (1024, {"mode": "tp-fsdp", "tp_size": 8}),
        (512, {"mode": "pdp", "ndevice_per_proc": 64}),
    ],
)
def test_the_largest_fits_where_it_is_spread_enough(monkeypatch, ranks, argv):
    monkeypatch.setattr(gpt_memory, "capacity", lambda device: 80 * gpt_memory.GIB)
    shape = shapes.shape_of("GPT1T", 3072, 1024)
    asked = {"model": "GPT1T", "precision": "bf16", "batch_size": 1, "optimizer": "adamw"}
    args = options(**asked, activation="checkpoint", **argv)
    gpt_memory.checked_estimate(shape, args, Group(torch.device("cuda", 0), 0, ranks))
    with pytest.raises(UnsupportedError, match=r"GPT1T in mode .* on 8 ranks needs about \d+"):
        gpt_memory.checked_estimate(shape, args, Group(torch.device("cuda", 0), 0, 8))
