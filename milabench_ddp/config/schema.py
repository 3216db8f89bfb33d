"""The resolved configuration: frozen, typed, nothing left to look up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .checks import Check, whole


@dataclass(frozen=True)
class PlanOption:
    """An option of a plan method: what its value may be, and its value where none is stated."""

    check: Check
    default: int


# The plan methods and their options; ``plan.methods`` says what each of them does.
PLAN_METHODS: Mapping[str, Mapping[str, PlanOption]] = {
    "per_gpu": {},
    "njobs": {"n": PlanOption(whole(1), default=1)},
}


@dataclass(frozen=True)
class PlanSpec:
    """How a benchmark is laid out on the devices: a method, and a value for each option of it."""

    method: str
    options: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """``per_gpu``, ``njobs 2``."""
        return " ".join([self.method, *map(str, self.options.values())])


@dataclass(frozen=True)
class FakeImageNet:
    """Images that a benchmark reads: JPEG files in folders of classes, made and not downloaded."""

    images: int  # of the training set
    val_images: int
    classes: int
    size: int  # height and width, in pixels
    seed: int
    folder: str  # below <base>/data


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, ready to be planned."""

    name: str
    program: Path  # absolute path of the script
    plan: PlanSpec
    argv: tuple[str, ...]  # placeholders filled in
    env: Mapping[str, str]
    group: str
    install_group: str
    tags: frozenset[str]
    max_duration: float  # seconds
    weight: float
    num_machines: int | None  # None: as many nodes as there are
    preset: str | None  # the preset that was applied, None where it carries none of that name
    voir: Mapping[str, Any] | None  # voir's options; None: the program needs no instrument
    voirfile: Path | None
    record: Mapping[str, Any]  # the resolved mapping itself, JSON-able: for the result files only
    data: FakeImageNet | None = None  # what must be there before it can run
    scaling: Literal["weak", "strong"] = "weak"  # keeps a replica's batch, or the global one


@dataclass(frozen=True)
class SkippedBenchmark:
    """A benchmark of the configuration that does not run, and why, in one sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Suite:
    """What a configuration resolves to: what would run, and why the rest would not."""

    path: Path
    preset: str  # the preset that was asked for, or that `auto` chose
    benchmarks: tuple[Benchmark, ...]
    skipped: tuple[SkippedBenchmark, ...]
