"""The program by itself, and that the matrix of strategies asks it for nothing that it lacks."""

from pathlib import Path

import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies.batches import replica_batch
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load
from tests.support.programs import BENCHMARKS, measured, program

gpt = program("gpt")
SUITE = str(BENCHMARKS.parent / "config" / "strategies.yaml")
SMALL = ["--model=GPTTiny", "--block-size=16", "--batch-size=4", "--device=cpu", "--steps=3"]


def suite(ranks, preset="small"):
    facts = MachineFacts("cpu", 1, ranks, ranks, "cpu", 0, Path("/nowhere"))
    return load(SuiteRequest(SUITE, preset=preset), facts)


@pytest.mark.parametrize("preset", ["small", "full"])
def test_every_command_line_is_understood(preset):
    modes = set()
    for benchmark in suite(4, preset).benchmarks:
        modes.add(gpt.options().parse_args(benchmark.argv).mode)
    assert modes == {"single", "ddp", "fsdp", "hsdp", "pipeline", "pdp", "tp", "tp-fsdp"}


def test_what_needs_four_ranks_is_skipped_on_two():
    skipped = [skip for skip in suite(2).skipped if "float8" not in skip.name]
    assert {skip.name.split("-")[1] for skip in skipped} == {"hsdp", "tp", "pdp"}
    assert all("needs ranks >= 4" in skip.reason for skip in skipped)


@pytest.mark.slow
def test_one_device(wire):
    gpt.main([*SMALL, "--mode", "single", "--check-correctness", "--activation", "checkpoint"])
    payloads = wire.close()
    assert {p["units"] for p in payloads if "rate" in p} == {"tokens/s"}
    assert len(measured(payloads)) >= 1
    (verdict,) = [p["correctness"] for p in payloads if "correctness" in p]
    assert verdict["ok"]
    (model,) = [p["model"] for p in payloads if "model" in p]
    assert model["flops_per_step"] > 0
    (ratio,) = [p["hardware_flops_ratio"] for p in payloads if "hardware_flops_ratio" in p]
    assert 1.2 < ratio < 4 / 3
    (memory,) = [p["memory_estimate"] for p in payloads if "memory_estimate" in p]
    assert memory["total"] > 0


def test_every_second_block_is_half_of_the_recomputation(wire):
    every = ["--mode", "single", "--activation", "checkpoint", "--activation-every"]
    for n in ("1", "2"):
        gpt.main([*SMALL, *every, n])
    told = [p["hardware_flops_ratio"] for p in wire.close() if "hardware_flops_ratio" in p]
    assert told[1] - 1 == pytest.approx((told[0] - 1) / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("--model GPTSmal --mode single", "did you mean GPTSmall"),
        ("--model GPT1T --mode single", "needs about 11252"),
        ("--model GPTTiny --mode single --accumulate 3", "cannot be divided by --accumulate 3"),
    ],
)
def test_what_cannot_be_is_refused(wire, capsys, argv, sentence):
    with pytest.raises(SystemExit) as end:
        gpt.main([*argv.split(), "--device", "cpu"])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err
    assert [p["$event"] for p in wire.close() if "$event" in p] == ["error"]


@pytest.mark.parametrize(
    ("argv", "ranks", "shape", "batch"),
    [
        # Layers and heads stay; 16 units of width for each head, and as many tokens as needed.
        ("--model GPTXL --block-size 1024 --batch-size 16", 8, (24, 24, 384, 32), 8),
        ("--model GPT1T --block-size 1024 --batch-size 16", 8, (128, 128, 512, 32), 8),
        ("--model GPTTiny --block-size 16 --batch-size 4", 2, (8, 4, 64, 16), 4),
        ("--model GPTXL --mode tp --block-size 120 --sequence-parallel", 24, (24, 24, 384, 48), 24),
        ("--model GPTXL --mode pipeline --chunks 16 --batch-size 64", 8, (24, 24, 384, 32), 16),
        ("--model GPTXL --mode pipeline --schedule GPipe --batch-size 64", 8, (24, 24, 384, 32), 8),
        ("--model GPTXL --accumulate 5 --batch-size 20", 2, (24, 24, 384, 32), 5),
    ],
)
def test_a_narrow_model_is_checked(argv, ranks, shape, batch):
    args = gpt.options().parse_args(argv.split())
    group = Group(torch.device("cpu"), 0, ranks)
    small, workload, source = gpt.reduced(args, gpt.checked_shape(args, ranks), group)
    with torch.device("meta"):
        made = workload.make_model()
    (tokens, _), block = source.batch(0, 0), made.blocks["0"]
    width = block.norm1.weight.numel()
    heads = width // block.attention.head
    assert (len(made.blocks), heads, width, tokens.shape[1]) == shape
    assert replica_batch(small, ranks) == tokens.shape[0] == batch
    strategies.check(small, workload, group)


@pytest.mark.parametrize(
    ("argv", "ranks", "odd"),
    [
        ("--model GPTXL --mode ddp", 8, "head 86"),
        ("--model GPTXL --mode tp", 4, "head 86, attention 516"),
        ("--model GPTXL --mode tp", 8, "head 86, attention 258"),
        ("--model GPTXL --mode tp --vocab-size 3076", 4, "head 86, attention 516, vocabulary 769"),
        ("--model GPT1B --mode tp", 8, None),
        ("--model llama3-1b --mode tp", 8, None),
        ("--model llama3-8b --mode tp-fsdp --tp-size 8", 16, None),
    ],
)
def test_widths_that_kernels_pad_are_told(argv, ranks, odd):
    args = gpt.options().parse_args(argv.split())
    told = gpt.odd_widths(args, gpt.checked_shape(args, ranks), ranks)
    assert told.get("misaligned") == odd


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("preset", ["small", "full"])
def test_no_shard_of_the_suites_is_odd(preset, ranks):
    for benchmark in suite(ranks, preset).benchmarks:
        args = gpt.options().parse_args(benchmark.argv)
        count = 1 if args.mode == "single" else ranks
        try:
            shape = gpt.checked_shape(args, count)
        except UnsupportedError:  # GPTTiny has four heads
            continue
        assert gpt.odd_widths(args, shape, count) == {}
