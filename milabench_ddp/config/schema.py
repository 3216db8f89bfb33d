"""The resolved configuration: frozen, typed, nothing left to look up."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class PerGpu:
    """One independent process on every device."""


@dataclass(frozen=True)
class NJobs:
    """n jobs side by side; each is one torchrun over its share of the devices."""

    n: int = 1


Plan = PerGpu | NJobs


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
    plan: Plan
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
class Skip:
    """A benchmark of the configuration that will not run, and why, in one sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Suite:
    """What a configuration resolves to: what would run, and why the rest would not."""

    path: Path
    preset: str  # the preset that was asked for, or that `auto` chose
    benchmarks: tuple[Benchmark, ...]
    skipped: tuple[Skip, ...]
