"""The shipped suite asks the programs for nothing that they do not have."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.gpt import memory
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load
from tests.support.programs import BENCHMARKS, program

CONFIG = BENCHMARKS.parent / "config"


def suite(preset, name="ddp", ranks=2):
    facts = MachineFacts("cpu", 1, ranks, ranks, "cpu", 0, Path("/nowhere"))
    return load(SuiteRequest(str(CONFIG / f"{name}.yaml"), preset=preset), facts)


SUITES = ["ddp", "dynamo", "everything", "strategies", "sweeps/small", "sweeps/ddp_experiments"]


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("preset", ["small", "full"])
def test_every_command_line_is_understood(preset, name):
    for benchmark in suite(preset, name).benchmarks:
        program(benchmark.program.parent.name).options().parse_args(benchmark.argv)


@pytest.mark.parametrize("preset", ["small", "full"])
def test_every_program_is_measured_by_time_and_has_steps_to_compare_ranks(preset):
    for benchmark in suite(preset).benchmarks:
        name = benchmark.program.parent.name
        args = program(name).options().parse_args(benchmark.argv)
        assert args.seconds >= 5, benchmark.name
        if name not in ("comm", "pairs"):  # which are compared by their links
            least = args.steps if "steps" in args else args.repeat
            assert (least, args.warmup >= 6) == (20, True), benchmark.name


@pytest.mark.parametrize("preset", ["small", "full"])
@pytest.mark.parametrize("name", ["ddp", "everything"])
@pytest.mark.parametrize("mebibytes", [40, 50, 60, 126])  # A100, H100, H200, B200
def test_vectors_are_longer_than_the_cache_of_any_gpu(monkeypatch, preset, name, mebibytes):
    membw = program("membw")
    gpu = SimpleNamespace(L2_cache_size=mebibytes * 2**20)
    monkeypatch.setattr(membw.torch.cuda, "get_device_properties", lambda _: gpu)
    runs = [b for b in suite(preset, name).benchmarks if b.program.parent.name == "membw"]
    asked = {membw.options().parse_args(b.argv).bytes for b in runs}
    (length,) = (membw.length(membw.torch.device("cuda", 0), bytes_) for bytes_ in asked)
    assert 4 * mebibytes * 2**20 <= length <= 2**30


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["ddp", "everything", "strategies"])
def test_the_full_sizes_fit_in_80_gb_on_paper(name, ranks):
    gpt = program("gpt")
    for benchmark in suite("full", name, ranks).benchmarks:
        if benchmark.program.parent.name == "gpt":
            args = gpt.options().parse_args(benchmark.argv)
            count = 1 if args.mode == "single" else ranks
            shape = gpt.checked_shape(args, count)
            assert memory.estimate(shape, args, count).total < 75e9, benchmark.name


def test_dynamo_is_models_by_backends_by_breaks():
    points = {b.name: b.argv for b in suite("full", "dynamo").benchmarks}
    assert len(points) == 6 * (1 + 2 * 2)
    argv = points["hf_T5-inductor-no_optimization"]
    assert {"--compile=inductor", "--optimize-ddp=no_optimization"} <= set(
        map("=".join, pairwise(argv))
    )
    bases = {b.name: b.record.get("relative_to") for b in suite("full", "dynamo").benchmarks}
    assert set(filter(None, bases.values())) == {name for name in points if name.endswith("-none")}
    assert all((bases[name] is None) == name.endswith("-none") for name in points)
    assert len(suite("small", "dynamo").benchmarks) == 2 * (1 + 2 * 2)


def test_eager_in_ddp_experiments_is_no_dynamo():
    points = {}
    for benchmark in suite("full", "sweeps/ddp_experiments").benchmarks:
        args = program(benchmark.program.parent.name).options().parse_args(benchmark.argv)
        point = benchmark.record["matrix"]
        key = point["model"], point["backend"], point["breaks"], point["nodes"]
        points[key] = args.compile, args.optimize_ddp
    assert len(points) == 6 * 2 * 2  # on the only node
    for (_, backend, breaks, _), (compiler, how) in points.items():
        assert compiler == {"eager": "none", "inductor": "inductor"}[backend]
        assert backend == "eager" or how == breaks


def test_presets():
    full, small = suite("full"), suite("small")
    disabled = {skip.name for skip in full.skipped}
    assert disabled == {
        "flops-fp8", "flops-tf32", "gpt-hsdp", "gpt-pdp", "gpt-tp-fsdp", "gpt-1.3b-fsdp",
        "lightning",
        "llama-8b-fsdp", "llama-8b-fsdp-inductor", "llama-8b-fsdp-float8", "resnet50-folder",
    }  # fmt: skip
    names = {b.name for b in small.benchmarks}
    assert names < {b.name for b in full.benchmarks}
    assert {name.split("-")[0] for name in names} == {
        "flops", "membw", "resnet50", "elastic", "comm", "gpt", "bert"
    }  # fmt: skip
    assert {b.max_duration for b in full.benchmarks} == {600}
    assert {b.max_duration for b in small.benchmarks} == {120}
    assert all(b.weight > 0 for b in full.benchmarks)


def test_everything_is_every_program_in_every_mode():
    modes = {}
    asked = suite("small", "everything", ranks=4)
    for benchmark in asked.benchmarks:
        name = benchmark.program.parent.name
        args = program(name).options().parse_args(benchmark.argv)
        modes.setdefault(name, set()).add(getattr(args, "mode", None))
    programs = {path.parent.name for path in BENCHMARKS.glob("*/main.py")}
    assert set(modes) == programs - {"lightning"}  # it needs a package of its own
    for name in ("gpt", "transformers", "torchvision_ddp"):
        (mode,) = [a for a in program(name).options()._actions if a.dest == "mode"]
        assert modes[name] == set(mode.choices)
    reasons = {skip.name: skip.reason for skip in asked.skipped}
    assert "needs arch == 'cuda'" in reasons["gpt-ddp-powersgd"]
