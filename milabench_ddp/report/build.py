"""Run folders -> the report about them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..results.read import read_run
from ..results.records import Record, Run
from . import compat, failures, measure
from .members import members
from .model import NAN, Peak, Report, Row
from .notes import notes, warnings_of
from .outcomes import of_process
from .peaks import peaks, utilisation
from .runinfo import describe

T = TypeVar("T")


def report_of(
    paths: Sequence[str | Path],
    *,
    compat_formulas: bool = False,
    weights: Mapping[str, float] | None = None,
) -> Report:
    """Read run folders and calculate what a report says of them, pooled by benchmark.

    Args:
        paths: the folders; one that is named twice counts once.
        compat_formulas: whether to use milabench's statistics instead of ours.
        weights: those of the enabled benchmarks of a configuration; the recorded ones if None.

    Raises:
        RunDirError: one of them is no run folder.
    """
    runs = [read_run(path) for path in _distinct(paths)]
    return _compat(runs, weights or {}) if compat_formulas else _ours(runs, weights or {})


def _distinct(paths: Iterable[str | Path]) -> list[Path]:
    return list({Path(path).resolve(): Path(path) for path in paths}.values())


def _ours(runs: Sequence[Run], weights: Mapping[str, float]) -> Report:
    processes = [measure.Process.of(run, record) for run in runs for record in run.records]
    named = _by_name((process.record, process) for process in processes)
    failed = [
        failures.of_process(process.record, process.run, process.ending)
        for process in processes
        if process.ending.failed
    ]
    whole = failures.of_benchmarks(runs, failed, weights)
    planned = _planned(runs)
    missing = Counter(failure.benchmark for failure in whole)
    ranks = {name: members(group) for name, group in named.items()}
    tops = peaks(named)
    rows = {
        name: _with_mfu(
            measure.row(group, weights.get(name), missing[name], ranks[name]),
            utilisation(group, tops),
        )
        for name, group in named.items()
    }
    for name in missing.keys() - rows.keys():
        rows[name] = _absent(name, missing[name], planned.get(name), weights.get(name))
    return Report(
        compat=False,
        runs=tuple(map(describe, runs)),
        rows=_sorted(rows),
        failures=(*failed, *whole),
        notes=(*notes(named, ranks), *_mfu_notes(rows.values())),
        warnings=tuple(warnings_of(runs, named)),
        planned=planned,
    )


def _with_mfu(row: Row, found: tuple[float, Peak] | None) -> Row:
    return row if found is None else replace(row, mfu=found[0], peak=found[1])


def _mfu_notes(rows: Iterable[Row]) -> list[str]:
    """Which peak MFU was taken against."""
    taken = sorted({row.peak for row in rows if row.peak}, key=lambda p: (p.precision, p.benchmark))
    return [
        f"MFU in {peak.precision} is of {peak.tflop_s:.4g} TFLOP/s, measured by {peak.benchmark}"
        for peak in taken
    ]


def _planned(runs: Sequence[Run]) -> dict[str, Mapping[str, Any]]:
    """The resolved benchmarks of the runs, as run.json has them."""
    suites = [run.state.get("suite") for run in runs]
    entries = [entry for suite in suites if isinstance(suite, dict) for entry in suite.items()]
    return {name: config for name, config in entries if isinstance(config, dict)}


def _absent(name: str, fail: int, config: Mapping[str, Any] | None, weight: float | None) -> Row:
    if weight is None:
        weight = compat.recorded_weight(config) if config is not None else 0.0
    return Row(name, fail, 0, 0, NAN, NAN, NAN, NAN, NAN, weight, config=config or {})


def _compat(runs: Sequence[Run], weights: Mapping[str, float]) -> Report:
    fit = compat.fit(runs)
    named = _by_name((record, record) for record in fit.records)
    rows = {name: compat.row(group, weights.get(name)) for name, group in named.items()}
    for name in weights.keys() - rows.keys():
        rows[name] = compat.missing(name, weights[name])
    counted = {id(record) for record in fit.records}
    failed = [
        failures.of_process(record, run, of_process(record, run))
        for run in runs
        for record in run.records
        if id(record) in counted and not compat.succeeded(record)
    ]
    left_out = [f"{r.path}: left out, as milabench does: {why}" for r, why in fit.left_out]
    return Report(
        compat=True,
        runs=tuple(map(describe, runs)),
        rows=_sorted(rows),
        failures=tuple(failed),
        warnings=(*warnings_of(runs, {}), *left_out),
    )


def _by_name(pairs: Iterable[tuple[Record, T]]) -> dict[str, list[T]]:
    named: dict[str, list[T]] = {}
    for record, value in pairs:
        named.setdefault(record.name, []).append(value)
    return named


def _sorted(rows: Mapping[str, Row]) -> tuple[Row, ...]:
    return tuple(rows[name] for name in sorted(rows))
