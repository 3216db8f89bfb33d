"""A configuration file and the words of the command line -> a suite of benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import ConfigError
from .build import build
from .defaults import complete
from .facts import MachineFacts
from .include import read_suite
from .inherit import inherit
from .interpolate import interpolate
from .keys import check_known, check_name, check_values
from .matrix import expand
from .merge import settle
from .nodes import with_nodes
from .override import early, late, parse_override
from .paths import shown
from .placeholders import fill_all
from .preset import Applied, apply, choose
from .program import absolute_paths
from .schema import Benchmark, SkippedBenchmark, Suite
from .select import Selection, parse_selection
from .shipped import find
from .sizing import Options
from .skip import judge
from .system import System
from .tree import Table


@dataclass(frozen=True)
class SuiteRequest:
    """What the command line says of the configuration."""

    config: str  # a path, or the name of a shipped configuration
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    preset: str = "auto"
    system: System | None = None
    nodes: tuple[int, ...] = ()  # in place of the node counts that a matrix lists


@dataclass(frozen=True)
class Resolved:
    """The configuration with nothing left to look up; every value knows where it was stated."""

    path: Path
    preset: str  # the one that was asked for, or that `auto` chose
    benchmarks: Mapping[str, Applied]  # without templates
    selection: Selection


def resolve(request: SuiteRequest, facts: MachineFacts) -> Resolved:
    """Read, merge, expand, inherit, override, interpolate and check, in this order.

    Raises ConfigError and SelectionError, which say where, what, and what was probably meant.
    """
    path = find(request.config)
    overrides = [parse_override(text) for text in request.overrides]
    raw = early(overrides, _defined(read_suite(path)))
    for entry in raw.values():
        check_known(entry)
    inherited = inherit(expand(with_nodes(raw, request.nodes)))
    preset = choose(request.preset, facts, inherited)
    applied = {name: apply(preset, entry) for name, entry in inherited.items()}
    overridden = late(overrides, {name: a.table for name, a in applied.items()}, raw)
    settled = {name: complete(name, settle(entry), facts) for name, entry in overridden.items()}
    entries = {
        name: absolute_paths(entry)
        for name, entry in interpolate(settled).items()
        if not name.startswith("_")
    }
    if not entries:
        raise ConfigError(f"{shown(path)}: defines no benchmark (a name with `_` is a template)")
    for name, entry in entries.items():
        check_name(name, entry)
        check_values(entry)
    selection = parse_selection(request.select, request.exclude, entries)
    options = request.system.options if request.system else Options()
    filled = fill_all(entries, facts, options)
    benchmarks = {name: replace(applied[name], table=entry) for name, entry in filled.items()}
    return Resolved(path, preset, benchmarks, selection)


def load(request: SuiteRequest, facts: MachineFacts) -> Suite:
    """The benchmarks that would run, and why the rest would not.

    Raises what `resolve` raises, and ConfigError for a program that is not there.
    """
    resolved = resolve(request, facts)
    verdicts = [
        judge(name, applied, resolved.selection, facts) or build(name, applied)
        for name, applied in resolved.benchmarks.items()
    ]
    return Suite(
        path=resolved.path,
        preset=resolved.preset,
        benchmarks=tuple(v for v in verdicts if isinstance(v, Benchmark)),
        skipped=tuple(v for v in verdicts if isinstance(v, SkippedBenchmark)),
    )


def _defined(suite: Table) -> dict[str, Table]:
    """The entries but for those that a later file removed with ``!delete``."""
    return {name: node for name, node in suite.entries.items() if isinstance(node, Table)}
