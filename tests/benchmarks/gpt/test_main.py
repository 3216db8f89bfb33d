"""The program by itself, and that the matrix of strategies asks it for nothing that it lacks."""

from pathlib import Path

import pytest

from milabench_ddp.config.facts import MachineFacts
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
    skipped = suite(2).skipped
    assert {skip.name.split("-")[1] for skip in skipped} == {"hsdp", "tp", "pdp"}
    assert all("needs gpu['count'] >= 4" in skip.reason for skip in skipped)


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


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("--model GPTSmal --mode single", "did you mean GPTSmall"),
        ("--model GPT1T --mode single", "needs about 11502"),
        ("--model GPTTiny --mode single --accumulate 3", "cannot be divided by --accumulate 3"),
    ],
)
def test_what_cannot_be_is_refused(wire, capsys, argv, sentence):
    with pytest.raises(SystemExit) as end:
        gpt.main([*argv.split(), "--device", "cpu"])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err
    assert [p["$event"] for p in wire.close()] == ["error"]
