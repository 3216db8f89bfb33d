"""The shipped suite asks the programs for nothing that they do not have."""

from pathlib import Path

import pytest
from common import vision

from milabench_ddp.config.facts import Facts
from milabench_ddp.config.load import Request, load

from .conftest import BENCHMARKS, program

SUITE = str(BENCHMARKS.parent / "config" / "ddp.yaml")


def suite(preset):
    facts = Facts("cpu", 1, 2, 2, "cpu", 0, Path("/nowhere"))
    return load(Request(SUITE, preset=preset), facts)


def options(name):
    return vision.options("") if name.startswith("torchvision") else program(name).options()


@pytest.mark.parametrize("preset", ["small", "full"])
def test_every_command_line_is_understood(preset):
    for benchmark in suite(preset).benchmarks:
        options(benchmark.program.parent.name).parse_args(benchmark.argv)


def test_presets():
    full, small = suite("full"), suite("small")
    names = [b.name for b in full.benchmarks]
    assert names == [
        "flops-fp32", "flops-tf32", "flops-fp16", "flops-bf16",
        "resnet50", "resnet50-loader", "resnet50-ddp", "elastic-ddp",
    ]  # fmt: skip
    assert [skip.name for skip in small.skipped] == ["flops-tf32", "flops-fp16"]
    assert {b.max_duration for b in full.benchmarks} == {600}
    assert {b.max_duration for b in small.benchmarks} == {120}
    assert all(b.weight > 0 for b in full.benchmarks)
