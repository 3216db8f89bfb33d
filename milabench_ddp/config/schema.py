"""Every key that a benchmark may have, and the records that a configuration resolves to.

A key is declared once, in `KEYS`. One that the program reads is also a field of `Benchmark`, of the
same name; `build_benchmark` fills it. The others are read by milabench, or kept for the record.
"""

from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from .checks import (
    Check,
    Checks,
    IncompleteError,
    as_mapping,
    check_entries,
    check_keys,
    command_line,
    environment,
    flag,
    free,
    mapping_of,
    number,
    one_of,
    single,
    text,
    texts,
    whole,
    wrong,
)
from .limits import SECONDS
from .names import NAME
from .tree import DeleteNode, MappingNode, TreeNode, finalize, is_null, scalars, text_of


class PlanSpec(Struct, frozen=True):
    """A plan method with its options: how a benchmark is laid out on the devices."""

    method: str
    options: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """``per_gpu``, ``njobs 2``."""
        return " ".join([self.method, *map(str, self.options.values())])


class FakeImageNet(Struct, frozen=True):
    """Images that a benchmark reads: JPEG files in folders of classes, made and not downloaded."""

    images: int  # of the training set
    val_images: int
    classes: int
    size: int = 256  # height and width, in pixels
    seed: int = 0
    folder: str = "FakeImageNet"  # below <base>/data


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
    env: Mapping[str, str] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    num_machines: int | None = None  # None: as many nodes as there are
    data: FakeImageNet | None = None  # the images that it needs before it can run
    scaling: Literal["weak", "strong"] = "weak"  # keeps a replica's batch, or the global one
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
        """How many nodes it takes in a run on ``nodes`` nodes."""
        return self.num_machines or nodes


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


class Key(Struct, frozen=True):
    """A key of a benchmark, or an option of a plan method."""

    check: Check
    default: str | float | None = None  # {name}, {group}, {arch} filled in; None: may be absent
    in_preset: bool = (
        False  # whether a preset may state it: presets change the size of the work only
    )


# The plan methods and their options; ``plan.methods`` says what each of them does.
PLAN_METHODS: Mapping[str, Mapping[str, Key]] = {
    "per_gpu": {},
    "njobs": {"n": Key(whole(1), default=1)},
}


def _plan(key: str, node: TreeNode) -> PlanSpec:
    checks = {"method": one_of(*PLAN_METHODS)}
    for options in PLAN_METHODS.values():  # an option of another method may have been inherited
        for name, option in options.items():
            checks[name] = option.check
    stated = mapping_of(checks, required=["method"])(key, node)
    method = stated["method"]
    values = {}
    for name, option in PLAN_METHODS[method].items():
        values[name] = stated.get(name, option.default)
    return PlanSpec(method, values)


def _tags(key: str, node: TreeNode) -> frozenset[str]:
    return frozenset(texts(key, node))


def _folder(key: str, node: TreeNode) -> str:
    name: str = text(key, node)
    if not NAME.fullmatch(name):
        raise wrong(key, node, "the name of a folder, without `/`")
    return name


_SHARE = number("a number from 0 to 1", 0, 1)

_FAKE_IMAGENET: Checks = {
    "classes": whole(1),
    "folder": _folder,
    "images": whole(1, 10**8),
    "seed": whole(0),
    "size": whole(8, 2**14),
    "val_images": whole(1, 10**8),
}
_VOIR_OPTIONS = dict.fromkeys(("gpu_poll", "interval", "skip", "stop"), single)


KEYS: Mapping[str, Key] = {
    "argv": Key(command_line, in_preset=True),
    "because": Key(text, in_preset=True),  # why it is disabled
    "client": Key(free),
    "definition": Key(text),  # the folder of the program
    "docker_image": Key(text),
    "enabled": Key(flag, default=True, in_preset=True),
    "env": Key(environment, in_preset=True),
    "gradient_accumulation_steps": Key(whole(1)),
    "group": Key(text, default="{name}"),
    "install_group": Key(
        _folder, default="{group}"
    ),  # the benchmarks of a group share a virtual environment
    "install_variant": Key(text, default="{arch}"),
    "instrument": Key(one_of("voir")),
    "matrix": Key(free),  # the combination of a variant, once the matrix is expanded
    "max_duration": Key(
        number(f"a positive number of seconds, up to {SECONDS:,}", 0, SECONDS, above=True),
        default=600,
        in_preset=True,
    ),
    "max_output": Key(number("a positive number of MiB", 0, above=True), in_preset=True),
    "num_machines": Key(whole(1), in_preset=True),
    "pip": Key(free),
    "plan": Key(_plan),
    "prepare": Key(
        mapping_of({"fake_imagenet": mapping_of(_FAKE_IMAGENET, required=["images"])}),
        in_preset=True,
    ),
    "program": Key(text),
    "relative_to": Key(text),  # the benchmark that its speed is compared with
    "requires_capabilities": Key(texts),  # the conditions under which it runs
    "scaling": Key(one_of("weak", "strong")),
    "secrets": Key(texts),  # names of variables and options whose values are hidden
    "server": Key(free),
    "sweep": Key(text),  # the entry whose matrix a variant is of, once it is expanded
    "tags": Key(_tags),
    "url": Key(free),
    "use_deepspeed": Key(flag),
    "validation": Key(
        mapping_of(
            {"usage": mapping_of({"gpu_load_threshold": _SHARE, "gpu_mem_threshold": _SHARE})}
        )
    ),
    "voir": Key(mapping_of({"options": mapping_of(_VOIR_OPTIONS)}), in_preset=True),
    "weight": Key(number("a number, 0 or more", 0), default=0),
}

_PRESET_KEYS = {name for name, key in KEYS.items() if key.in_preset}


def check_written(layer: MappingNode) -> None:
    """Check a benchmark, its job and its presets as a file or an option states them.

    A later layer may replace a wrong value, and then `check_values` does not see it.

    Raises ConfigError for an unknown key, and for a value of the wrong type.
    """
    for part, key in ((layer, "job"), (layer.mapping("job"), "name")):
        if part:
            check_keys(KEYS.keys() | {"inherits", "presets", key}, part)
            _check_parts(part)
            presets = part.get("presets")
            if presets is None or _is_absent(presets):
                continue
            every = as_mapping("presets", presets, "a mapping of presets").entries
            for name, preset in every.items():
                if not _is_absent(preset):
                    stated = as_mapping(f"presets.{name}", preset)
                    check_keys(_PRESET_KEYS, stated)
                    _check_parts(stated)


def _check_parts(layer: MappingNode) -> None:
    """Check the values that are known already, and need no other layer."""
    for name, node in layer.entries.items():
        if name not in KEYS or _is_absent(node):
            continue
        if not any("{" in (text_of(scalar) or "") for scalar in scalars(node)):
            with suppress(IncompleteError):  # another layer may state the rest
                KEYS[name].check(name, finalize(node))


def check_values(entry: MappingNode) -> dict[str, Any]:
    """The values by their keys; ``entry`` is final and interpolated.

    Raises ConfigError for a value of the wrong type.
    """
    return check_entries({name: key.check for name, key in KEYS.items()}, entry)


def _is_absent(node: TreeNode) -> bool:
    return isinstance(node, DeleteNode) or is_null(node)
