"""Every key that a benchmark may have, and the records that a configuration resolves to.

A key is declared once, in `Keys`. One that the program reads is also a field of `Benchmark`, of the
same name; ``load`` fills it. The others are read by milabench, or kept for the record.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct
from msgspec.structs import fields

from ..hidden import SECRETS
from .checks import (
    Check,
    Count,
    Natural,
    NotNegative,
    Single,
    Text,
    Texts,
    check_entries,
    checked,
    typed,
)
from .limits import SECONDS
from .tree import MappingNode, TreeNode
from .words import command_line, environment

NAME = re.compile(r"\w[\w.+=@-]*")
VALIDATE = "validate"  # the tag of benchmarks by which nodes are judged


class PlanSpec(Struct, frozen=True):
    """A plan method with its options: how a benchmark is laid out on the devices."""

    method: str
    options: Mapping[str, int | str] = {}

    @property
    def each_node(self) -> bool:
        """Whether each node has jobs of its own, whose ranks meet no other node's."""
        return is_of_each_node(self.options)

    @property
    def jobs(self) -> int:
        """How many jobs of many ranks a node runs; 0 for independent processes."""
        return recorded_jobs({"method": self.method, **self.options})

    def __str__(self) -> str:
        return " ".join([self.method, *map(str, self.options.values())])


def recorded_jobs(plan: object) -> int:
    """``PlanSpec.jobs`` of the plan in a file of results, which may hold anything."""
    if not isinstance(plan, Mapping) or plan.get("method") != "njobs":
        return 0
    count = plan.get("n")
    return count if isinstance(count, int) and count > 0 else 1


def is_of_each_node(plan: object) -> bool:
    """Whether the jobs of the plan in a file of results are of a node each."""
    return isinstance(plan, Mapping) and plan.get("each") == "node"


def spans_nodes(plan: object) -> bool:
    """Whether ranks on different nodes wait for each other, by such a plan."""
    return bool(recorded_jobs(plan)) and not is_of_each_node(plan)


_Images = Annotated[int, Meta(ge=1, le=10**8)]
_Folder = Annotated[
    str, Meta(pattern=rf"\A{NAME.pattern}\Z", description="the name of a folder, without `/`")
]


class FakeImageNet(Struct, frozen=True, forbid_unknown_fields=True):
    """Images that a benchmark reads: JPEG files in folders of classes, made and not downloaded."""

    images: _Images  # of the training set
    val_images: _Images = 0  # 0: as ImageNet has
    classes: Count = 0  # 0: as ImageNet has
    size: Annotated[int, Meta(ge=8, le=2**14)] = 256  # height and width, in pixels
    seed: Natural = 0
    folder: _Folder = "FakeImageNet"  # below <base>/data


class Benchmark(Struct, frozen=True):
    """One benchmark, ready to be planned."""

    name: str
    program: Path  # absolute path of the script
    plan: PlanSpec
    preset: str | None  # the preset that was applied, or None
    voir: Mapping[str, Any] | None  # voir's options; None: the program needs no instrument
    voirfile: Path | None
    record: Mapping[str, Any]  # the resolved mapping itself, JSON-able: for the result files only
    group: str
    install_group: str
    max_duration: float  # seconds
    weight: float
    max_output: float = 64.0  # MiB of each of stdout and stderr that are kept of a process
    argv: tuple[str, ...] = ()  # placeholders filled in
    env: Mapping[str, str] = {}
    tags: frozenset[str] = frozenset()
    num_machines: int | None = None  # None: as many nodes as there are
    data: FakeImageNet | None = None  # the images that it needs before it can run
    scaling: Literal["weak", "strong"] = "weak"  # keeps a replica's batch, or the global one
    isolate: int | None = None  # nodes of the smallest probe, where it fails on several nodes
    module: str = ""  # the package that ``python -m`` runs in its folder, in place of the program

    @property
    def folder(self) -> Path:
        """The folder with its code: ``definition``, or that of its program."""
        return Path(self.record.get("definition") or self.program.parent)

    @property
    def environ(self) -> Mapping[str, str]:
        """Its variables; those of a package have the folder that it is found in."""
        if not self.module:
            return self.env
        stated = self.env.get("PYTHONPATH")
        path = f"{self.folder}:{stated}" if stated else str(self.folder)
        return {**self.env, "PYTHONPATH": path}

    def size(self, nodes: int) -> int:
        return self.num_machines or nodes

    def heed_secrets(self) -> None:
        """Hide the values of the variables that it says are secret."""
        SECRETS.heed(self.record.get("secrets") or (), (self.name, self.group))


class SkipKind(StrEnum):
    """What keeps a benchmark of the configuration from running."""

    DISABLED = "disabled"  # by the configuration or its preset: the suite does not include it
    LEFT_OUT = "left out"  # the command: --select, --exclude, --override
    UNABLE = "unable"  # this machine, or the benchmark's own entry: it cannot run


class SkippedBenchmark(Struct, frozen=True):
    """A benchmark of the configuration that does not run, and why, in one sentence."""

    name: str
    reason: str
    kind: SkipKind = SkipKind.UNABLE


class Suite(Struct, frozen=True):
    """What a configuration resolves to: what would run, and why the rest would not."""

    path: Path
    preset: str  # the preset that was asked for, or that `auto` chose
    benchmarks: tuple[Benchmark, ...]
    skipped: tuple[SkippedBenchmark, ...]
    warnings: tuple[str, ...] = ()  # what milabench takes, and what has no effect here


# The plan methods, and the defaults of their options; ``plan.methods`` says what each of them does.
PLAN_METHODS: Mapping[str, Mapping[str, int | str | None]] = {
    "per_gpu": {},
    "njobs": {"n": 1, "each": None},
}
_Words: Any = Literal
_Plan = defstruct(
    "_Plan",
    [
        ("method", _Words[tuple(PLAN_METHODS)]),
        ("n", Count | None, None),
        ("each", _Words["node"] | None, None),
    ],
    forbid_unknown_fields=True,  # but an option of another method may have been inherited
)


def _plan(key: str, node: TreeNode) -> PlanSpec:
    stated = checked(_Plan, key, node)
    values = {}
    for name, default in PLAN_METHODS[stated.method].items():
        if value := getattr(stated, name) or default:
            values[name] = value
    return PlanSpec(stated.method, values)


class _Prepare(Struct, forbid_unknown_fields=True):
    fake_imagenet: FakeImageNet | None = None


_Share = Annotated[float, Meta(ge=0, le=1)]


class _Usage(Struct, forbid_unknown_fields=True):
    gpu_load_threshold: _Share = 0
    gpu_mem_threshold: _Share = 0


class _Validation(Struct, forbid_unknown_fields=True):
    usage: _Usage | None = None


class _VoirOptions(Struct, forbid_unknown_fields=True):
    gpu_poll: Single = None
    interval: Single = None
    skip: Single = None
    stop: Single = None


class _Voir(Struct, forbid_unknown_fields=True):
    options: _VoirOptions | None = None


_Duration = Annotated[
    float, Meta(gt=0, le=SECONDS, description=f"a number of seconds, up to {SECONDS:,}")
]


class Keys(Struct):
    """Every key that a benchmark may have, with its default, or None if it may be absent.

    In defaults, ``{name}``, ``{group}`` and ``{arch}`` are filled in.
    """

    argv: Any = None
    because: Text | None = None  # why it is disabled
    client: Any = None
    definition: Text | None = None  # the folder of the program
    docker_image: Text | None = None
    enabled: bool = True
    env: Any = None
    gradient_accumulation_steps: Count | None = None
    group: Text = "{name}"
    install_group: _Folder = "{group}"  # its benchmarks share a virtual environment
    install_variant: Text = "{arch}"
    instrument: Literal["voir"] | None = None
    isolate: Count | None = None  # nodes of the smallest part of which bad nodes are found
    matrix: Any = None  # the combination of a variant, once the matrix is expanded
    max_duration: _Duration = 600
    max_output: Annotated[float, Meta(gt=0, le=2**40)] | None = None
    num_machines: Count | None = None
    pip: Any = None
    plan: Any = None
    prepare: _Prepare | None = None
    program: Text | None = None
    relative_to: Text | None = None  # the benchmark that its speed is compared with
    requires_capabilities: Texts | None = None  # the conditions under which it runs
    scaling: Literal["weak", "strong"] | None = None
    secrets: Texts | None = None  # names of variables and options whose values are hidden
    server: Any = None
    sweep: Text | None = None  # the entry whose matrix a variant is of, once it is expanded
    tags: Annotated[frozenset[str], Meta(description="a list of texts")] | None = None
    url: Any = None
    use_deepspeed: bool | None = None
    validation: _Validation | None = None
    voir: _Voir | None = None
    weight: NotNegative = 0


_OWN_CHECKS: Mapping[str, Check] = {"argv": command_line, "env": environment, "plan": _plan}
KEYS: Mapping[str, Check] = {
    key.name: _OWN_CHECKS.get(key.name) or typed(key.type) for key in fields(Keys)
}
DEFAULTS = {key.name: key.default for key in fields(Keys) if key.default is not None}


def check_values(entry: MappingNode) -> dict[str, Any]:
    """The values by their keys; ``entry`` is final and interpolated."""
    return check_entries(KEYS, entry)
