"""Loads a suite of benchmarks, from a configuration file and the options of the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConfigError, MilabenchError
from .benchfile import absolute_paths, module_of, program_of, why_no_program
from .checks import unknown
from .conditions import MachineFacts
from .interpolate import interpolate
from .matrix import NODES_AXIS, expand, with_node_counts
from .merge import ALL, inherit, read_suite
from .mistakes import Apart, MistakeError, collected, keep
from .override import Override, apply_overrides, check_overrides, parse_override
from .placeholders import fill_all
from .presets import PresetResult, apply_preset, choose_preset, with_defaults
from .programs import check_program
from .schema import KEYS, PLAN_METHODS, Benchmark, SkippedBenchmark, Suite, check_values
from .select import (
    Selection,
    check_conditions,
    check_names,
    check_tags,
    labels,
    parse_selection,
    skipped_benchmark,
    why_no_name,
)
from .shipped import find_config
from .system import System
from .tree import Entries, MappingNode, finalize, shown, to_plain
from .yaml_reader import Warn

_FIELDS = set(Benchmark.__struct_fields__) & KEYS.keys()


class SuiteRequest(Struct, frozen=True):
    """The configuration that the command line asks for, and its changes to it."""

    config: str  # a path, or the name of a shipped configuration
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    preset: str = "auto"
    system: System = System()
    nodes: tuple[int, ...] = ()  # in place of the node counts that a matrix lists


class Resolved(Struct, frozen=True):
    """A configuration in which every reference is resolved; each value keeps its origin."""

    path: Path
    preset: str  # the one that was asked for, or that `auto` chose
    benchmarks: Mapping[str, PresetResult]  # without templates
    selection: Selection
    warnings: tuple[str, ...] = ()


def listed_node_counts(request: SuiteRequest) -> tuple[int, ...]:
    """The node counts that the selected sweeps of a configuration list, the largest first.

    They need no facts about a machine, since they say how many nodes a run asks for. There are none
    in a configuration that `resolve` refuses.
    """
    entries = _stated(request)
    selection = parse_selection(request.select, request.exclude, entries, is_final=False)
    counts = set()
    for name, entry in entries.items():
        if selection.reason_against(name):
            continue
        if entry.scalar("enabled") is False and name not in request.select:
            continue
        count = entry.scalar("num_machines")
        if NODES_AXIS in entry.mapping("matrix").entries and isinstance(count, int):
            counts.add(count)
    return tuple(sorted(counts, reverse=True))


def selectable(request: SuiteRequest) -> list[str]:
    """What ``--select`` takes: the names of the benchmarks, then ``@`` and each group and tag."""
    entries = _stated(request)
    groups = {label for entry in entries.values() for label in labels(entry)}
    return [*entries, *(f"@{label}" for label in sorted(groups))]


def _stated(request: SuiteRequest) -> Entries:
    try:  # `resolve` reads it again: it warns, and tells all mistakes
        overrides, raw = _read(request, lambda _said: None)
        found = apply_overrides(overrides, inherit(expand(raw)), early=False)
    except MilabenchError:
        return {}
    return {name: entry for name, entry in found.items() if not name.startswith("_")}


def resolve(request: SuiteRequest, facts: MachineFacts) -> Resolved:
    """Read, merge, expand, inherit, override, interpolate and check, in this order.

    Raises ConfigError and SelectionError, which name the place and the mistake, and suggest a fix:
    all mistakes at once.
    """
    with collected():
        return _resolve(request, facts, with_programs=False)


def _resolve(request: SuiteRequest, facts: MachineFacts, *, with_programs: bool) -> Resolved:
    warnings: dict[str, None] = {}  # a file may be included twice
    overrides, raw = _read(request, lambda said: warnings.setdefault(said))
    inherited = inherit(expand(raw))
    preset = request.preset
    with Apart():
        preset = choose_preset(preset, facts, inherited)
    results = {name: apply_preset(preset, entry) for name, entry in inherited.items()}
    merged = {name: result.entry for name, result in results.items()}
    check_overrides(overrides, raw, merged)
    final = {}
    for name, entry in apply_overrides(overrides, merged, early=False).items():
        final[name] = with_defaults(name, finalize(entry), facts.arch)
    named = {}
    entries = {}
    for name, entry in interpolate(final).items():
        if name.startswith("_"):
            continue
        named[name] = absolute_paths(entry)
        if "inherits" in entry.entries or why_no_name(name):
            continue  # its parents are not known, or the values that follow from its name
        with Apart():
            check_values(entry)
            entries[name] = named[name]
            if entry.text("program"):
                _check_plan(name, entry)
        presets = inherited[name].mapping("presets")
        check_program(named[name], presets, must_exist=with_programs)
        check_conditions(entry, facts)
        target = entry.text("relative_to")
        if target and target not in final:
            keep(unknown("benchmark", target, entry.entries["relative_to"].origin, final))
    path = find_config(request.config)
    if not named and all(name.startswith(("_", ALL)) for name in raw):
        raise ConfigError(
            f"{shown(path)}: defines no benchmark (a name that begins with `_` is a template): "
            "`milabench new NAME` writes one"
        )
    check_names(named)
    selection = parse_selection(request.select, request.exclude, named)
    warnings |= dict.fromkeys(request.system.warnings)
    benchmarks = {}
    for name, entry in fill_all(entries, facts, request.system.options).items():
        benchmarks[name] = replace(results[name], entry=entry)
    return Resolved(path, preset, benchmarks, selection, tuple(warnings))


def load(request: SuiteRequest, facts: MachineFacts, *, without_programs: bool = False) -> Suite:
    """The benchmarks that would run, and why the rest would not.

    Args:
        without_programs: whether those whose programs do not exist are among those that would run:
            then a warning says so.
    """
    with collected():
        resolved = _resolve(request, facts, with_programs=not without_programs)
        warnings = list(resolved.warnings)
        benchmarks = []
        skipped = []
        for name, result in resolved.benchmarks.items():
            with Apart():
                left_out = skipped_benchmark(name, result, resolved.selection, facts)
                missing = "" if left_out else why_no_program(result.entry)
                if missing and not without_programs:
                    left_out = SkippedBenchmark(name, missing)
                if left_out:
                    skipped.append(left_out)
                    continue
                benchmarks.append(_build(name, result))
                if missing:
                    warnings.append(f"{name} cannot run here: {missing}")
        check_tags(benchmarks)
    return Suite(
        resolved.path,
        resolved.preset,
        tuple(benchmarks),
        tuple(skipped),
        tuple(warnings),
    )


def _read(request: SuiteRequest, warn: Warn) -> tuple[Sequence[Override], Entries]:
    overrides = [parse_override(text) for text in request.overrides]
    entries = {}
    for name, node in read_suite(find_config(request.config), warn).entries.items():
        if isinstance(node, MappingNode):  # not removed by a later file
            entries[name] = node
    changed = apply_overrides(overrides, entries, early=True)
    return overrides, with_node_counts(changed, request.nodes)


def _build(name: str, result: PresetResult) -> Benchmark:
    """The benchmark as it runs where its program exists."""
    entry = result.entry
    program = program_of(entry)
    assert program is not None, "a benchmark without a program is skipped"
    _check_plan(name, entry)
    record = to_plain(entry)
    stated = check_values(entry)
    values: dict[str, Any] = {key: stated[key] for key in _FIELDS & stated.keys()}
    values |= {"program": program, "module": module_of(entry), "voir": None, "voirfile": None}
    if "instrument" in record:
        voirfile = program.with_name("voirfile.py")
        values["voir"] = record.get("voir", {}).get("options") or {}
        values["voirfile"] = voirfile if voirfile.is_file() else None
    if "prepare" in stated and stated["prepare"].fake_imagenet is not None:
        data = stated["prepare"].fake_imagenet
        classes = data.classes or min(1000, data.images)
        # ImageNet has 1,281,167 images to train with and 50,000 to validate with: 1 in 25.
        val_images = data.val_images or max(classes, data.images // 25)
        if min(data.images, val_images) < classes:
            origin = entry.entries["prepare"].origin
            raise MistakeError(
                f"`prepare.fake_imagenet` of `{name}` in {origin}: {data.images} and {val_images} "
                f"images cannot fill {classes} classes, which need one each",
                origin,
            )
        values["data"] = replace(data, classes=classes, val_images=val_images)
    return Benchmark(name=name, preset=result.preset, record=record, **values)


def _check_plan(name: str, entry: MappingNode) -> None:
    if "plan" not in entry.entries:
        plans = " or ".join(f"`plan: {{method: {method}}}`" for method in PLAN_METHODS)
        said = f"`{name}` in {entry.origin} has no plan: add {plans}"
        raise MistakeError(said, entry.origin, name)
