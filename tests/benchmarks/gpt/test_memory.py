import argparse
from dataclasses import replace

import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.allocated import Allocated
from benchmarks.common.failure import SkippedError
from benchmarks.common.fitting import GIB
from benchmarks.common.group import Group
from benchmarks.common.strategies import float8
from benchmarks.common.strategies.batches import PIPELINES, pipeline_size
from benchmarks.gpt import main as gpt_main
from benchmarks.gpt import memory as gpt_memory
from benchmarks.gpt.rank_memory import RankMemory
from benchmarks.gpt.shapes import SHAPES, Shape, shape_of
from tests.support.fake_gpu import fake_gpu
from tests.support.fake_training import peak_of_a_step

SHAPE = shape_of("GPTXXXL", 3072, 128)


def options(**given):
    parser = argparse.ArgumentParser()
    strategies.add_options(parser)
    args = parser.parse_args([])
    asked = {"precision": "fp32", "batch_size": 10, "model": "GPTXXXL"}
    asked |= {"check_correctness": False} | given
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
    four, sixteen = (estimate(ranks, mode=mode, batch_size=64 // ranks) for ranks in (4, 16))
    assert sixteen.total < four.total


def test_activations_that_are_not_kept():
    kept, again = (estimate(mode="ddp", activation=a).activations for a in ("noop", "checkpoint"))
    assert again < kept / 5


def test_shards_on_the_host():
    assert estimate(mode="fsdp", cpu_offload=True).optimizer == 0


def checked(ranks, gib, host=2048, **given):
    """The estimate of a GPT on GPUs of ``gib`` GiB."""
    asked = {"model": "GPTXXXL", "block_size": 128} | given
    args = argparse.Namespace(**vars(gpt_main.options().parse_args([])) | asked)
    with fake_gpu(gib, ranks, host=host) as group:
        return gpt_main.checked(args, group)[2]


def test_what_cannot_fit_is_skipped():
    with pytest.raises(
        SkippedError,
        match=r"GPTXXXL in mode ddp on 8 ranks needs about 13\d\.\d GiB on each \(.*\), "
        r"but 74\.3 can be used: --batch-size 1 fits",
    ):
        checked(8, 80, mode="ddp", batch_size=64)
    checked(8, 80, mode="fsdp")


def test_what_is_offloaded_must_fit_the_host():
    asked = {"mode": "fsdp", "cpu_offload": True}
    with pytest.raises(
        SkippedError, match=r"on 4 ranks needs about 19\.\d GiB of the host .* it has 15\.0"
    ):
        checked(4, 80, host=15, **asked)
    checked(8, 80, host=15, **asked)


@pytest.mark.parametrize(
    ("ranks", "argv"),
    [
        (1024, {"mode": "fsdp"}),
        (1024, {"mode": "tp-fsdp", "tp_size": 8}),
        (1024, {"mode": "pdp", "ndevice_per_proc": 128, "chunks": 128}),
    ],
)
def test_the_largest_fits_where_it_is_spread_enough(ranks, argv):
    asked = {"model": "GPT1T", "precision": "bf16", "batch_size": 1, "optimizer": "adamw"}
    asked |= {"activation": "checkpoint", "block_size": 1024, **argv}
    checked(ranks, 80, **asked)
    with pytest.raises(SkippedError, match=r"GPT1T in mode .* on (8|128) ranks needs about \d+"):
        checked(asked.get("ndevice_per_proc", 8), 80, **asked)


SMALL = replace(SHAPES["GPT1B"], layers=6, block=1024)
LLAMA = replace(SHAPES["llama3-8b"], layers=6, block=2048)  # its words need more than its blocks
FEW, MANY = 1, 16  # sequences of a rank: weights, or activations, take most of the memory


def expect_what_a_step_allocates(shape, argv, ranks, batch):
    settings = f"--dtype bf16 --optimizer adamw --batch-size {batch} {argv}"
    args = gpt_main.options().parse_args(settings.split())
    workload = gpt_main.make_workload(args, shape)
    most, rank = 0, 0
    for k in range(pipeline_size(args, ranks) if args.mode in PIPELINES else 1):
        # Without a GPU, what is on the host and on the device is in one memory.
        found = max(each.total + each.host for each in RankMemory(shape, args, ranks, k).moments())
        most, rank = max((most, rank), (found, k))
    allocated = peak_of_a_step(args, workload, shape.block, ranks, rank)
    assert most == pytest.approx(allocated, rel=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    ("argv", "ranks", "batch"),
    [
        ("--mode single", 1, FEW),
        ("--mode single --precision amp", 1, MANY),
        ("--mode single --activation checkpoint", 1, MANY),
        ("--mode single --activation selective", 1, MANY),
        ("--mode single --activation offload", 1, MANY),
        ("--mode single --activation checkpoint --activation-every 2", 1, MANY),
        ("--mode single --activation offload --activation-every 3", 1, MANY),
        ("--mode fsdp", 8, FEW),
        ("--mode fsdp --precision amp --activation checkpoint", 8, FEW),
        ("--mode fsdp --activation selective --activation-every 5", 8, MANY),
        ("--mode fsdp --cpu-offload", 8, MANY),
        ("--mode fsdp --accumulate 2 --batch-size 2", 8, FEW),
        ("--mode fsdp --no-reshard-after-forward", 8, 2),
        ("--mode hsdp --precision amp", 8, 2),
        ("--mode tp --sequence-parallel", 8, MANY),
        ("--mode tp-fsdp --sequence-parallel", 8, MANY),
        ("--mode tp-fsdp --tp-size 8 --sequence-parallel --activation selective", 16, 2),
        ("--mode pipeline --schedule GPipe", 4, MANY),
        ("--mode pipeline --schedule Interleaved1F1B", 4, MANY),
        ("--mode pipeline --activation checkpoint --activation-every 2", 2, MANY),
        ("--mode pdp", 4, MANY),
    ],
)
def test_the_estimate_is_what_a_step_allocates(argv, ranks, batch):
    expect_what_a_step_allocates(SMALL, argv, ranks, batch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    ("argv", "ranks", "batch"),
    [
        ("--mode single", 1, 4),
        ("--mode fsdp", 8, FEW),
        ("--mode fsdp --accumulate 4", 8, 8),
        ("--mode hsdp --dtype fp32 --optimizer sgd", 8, FEW),
        ("--mode tp-fsdp --precision amp --activation checkpoint", 8, 2),
        ("--mode pipeline", 4, 4),
        ("--mode pdp --precision amp", 4, 4),
    ],
)
def test_the_estimate_of_a_llama_is_what_a_step_allocates(argv, ranks, batch):
    expect_what_a_step_allocates(LLAMA, argv, ranks, batch)


@pytest.mark.parametrize(
    ("argv", "ranks", "batch"),
    [
        ("--mode single --float8 tensorwise", 1, FEW),
        ("--mode single --float8 rowwise --activation selective", 1, MANY),
        ("--mode fsdp --float8 tensorwise", 8, MANY),
    ],
)
def test_casts_to_fp8_take_memory(monkeypatch, argv, ranks, batch):
    pytest.importorskip("torchao.float8")
    monkeypatch.setattr(float8, "require_fp8", lambda device: None)
    expect_what_a_step_allocates(SMALL, argv, ranks, batch)


def test_zero_bubbles_need_at_least_so_much():
    for schedule, words in (("1F1B", "needs about"), ("ZBVZeroBubble", "needs at least")):
        with pytest.raises(SkippedError, match=words):
            checked(4, 3, mode="pipeline", schedule=schedule, batch_size=8)


def test_the_estimate_of_ddp_is_what_a_step_allocates():
    settings = "--optimizer adamw --batch-size 4 --mode ddp"
    args = gpt_main.options().parse_args(settings.split())
    shape = Shape(layers=6, heads=4, width=256, vocabulary=256, block=128)
    with Allocated() as memory:  # its reducer needs real tensors
        strategy = strategies.build(args, gpt_main.make_workload(args, shape), Group.join("cpu"))
        words = torch.zeros(4, shape.block, dtype=torch.long)
        for _ in range(3):  # the first makes the optimizer's state, the second other buckets
            memory.peak = memory.now
            strategy.forward_backward((words, words))
            strategy.step()
    assert gpt_memory.estimate(shape, args, 8).total == pytest.approx(memory.peak, rel=0.05)


def test_tensors_on_the_host_take_powers_of_two():
    asked = {"mode": "ddp", "activation": "offload", "precision": "bf16", "batch_size": 16}
    wide = gpt_memory.estimate(shape_of("GPT1B", 3072, 1024), options(**asked), 8).host
    odd = gpt_memory.estimate(shape_of("GPTXL", 3072, 1024), options(**asked), 8).host
    tensors = 9 + 2 * 4  # of a block, each as large as its input; the perceptron's as four
    assert wide == 24 * tensors * 2 * 16 * 1024 * 2048
    assert odd == 2 * wide  # 2064 is more than 2048


def test_the_check_needs_one_device_of_its_own(monkeypatch):
    monkeypatch.setattr(gpt_memory.fitting, "capacity", lambda device: 3 * GIB)
    deep, cpu = Shape(layers=2000, heads=4, width=64), torch.device("cpu")
    gpt_memory.check_reference(deep, options(optimizer="adamw"), cpu)
    with pytest.raises(SkippedError, match=r"^--check-correctness of .* needs about 3\.\d GiB"):
        gpt_memory.check_reference(deep, options(optimizer="adamw", check_correctness=True), cpu)
