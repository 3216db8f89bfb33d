"""What is checked, in the order of its worth: parts, each of steps."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """A command of Python; ``run`` is the name of the run that it makes."""

    title: str
    argv: Sequence[str]
    run: str = ""


# Of ddp.yaml, at full size; their full names also select what the preset small disables.
FIRST = (
    "flops-bf16", "flops-fp8", "membw-triad", "transfer-h2d", "transfer-d2h", "gpt-single",
    "gpt-single-inductor", "llama-1b-single", "resnet50", "bert-ddp", "gpt2-large-fsdp",
)  # fmt: skip
SUSTAINED = "flops-sustained-bf16.argv.--seconds=40"  # clocks fall within a minute


def truth(device: str, folder: Path) -> Iterator[Step]:
    """Is what programs measure so?"""
    yield Step("what others measure", ["perf/gpu_truth.py", "--device", device])
    # The tests' own settings are for another torch, whose warnings are known, and several cores.
    plain = ["-q", "-W", "default", "-o", "addopts=", "-p", "no:cacheprovider"]
    plain += ["--basetemp", str(folder / "tmp"), *(["-m", "gpu"] if device == "cuda" else [])]
    yield Step("what only a GPU shows", ["-m", "pytest", *plain, "tests/benchmarks/on_gpu"])


def full(device: str, folder: Path) -> Iterator[Step]:
    """The rates that stand beside published ones."""
    yield _run("full", "ddp", device, folder, "--select", ",".join(FIRST), *_seconds(10))


def rest(device: str, folder: Path) -> Iterator[Step]:
    """What timing costs, all else that one GPU can run, and compilers."""
    yield Step("what timing costs", ["perf/timing_cost.py", "--device", device])
    shorter = [*_seconds(5), "--override", SUSTAINED]
    yield _run("rest", "ddp", device, folder, "--exclude", ",".join(FIRST), *shorter)
    small = "--preset", "small", "--select", "hf_Bert-*"
    yield _run("compile", "dynamo", device, folder, *small, *_seconds(2))


def tiny(device: str, folder: Path) -> Iterator[Step]:
    """Every program and mode, checked."""
    yield _run("tiny", "everything", device, folder, "--preset", "small", *_seconds(1))


PARTS: Mapping[str, Callable[[str, Path], Iterator[Step]]] = {
    "truth": truth,
    "full": full,
    "rest": rest,
    "tiny": tiny,
}


def _seconds(count: int) -> list[str]:
    return ["--override", f"*.argv.--seconds={count}"]


def _run(name: str, suite: str, device: str, folder: Path, *options: str) -> Step:
    command = ["-m", "milabench_ddp", "run", f"config/{suite}.yaml", "--device", device]
    place = ["--base", str(folder), "--name", name, "--quiet"]
    return Step(f"run {name}", [*command, *place, *options], run=name)
