"""Run folders -> the report about them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..results.read import read_run
from ..results.records import Payload, Record, Run
from . import compat, failures, findings, summary
from .mfu import peaks
from .model import Failure, Report, Row
from .process import ProcessResult
from .ranks import summarize_ranks
from .run_info import describe

Weights = Mapping[str, float]


def report_of(
    paths: Iterable[str | Path], *, compat_formulas: bool = False, weights: Weights | None = None
) -> Report:
    """Read run folders and calculate what a report says of them, pooled by benchmark.

    Args:
        paths: the folders; one that is named twice counts once.
        compat_formulas: whether to use milabench's statistics instead of ours.
        weights: those of the enabled benchmarks of a configuration; the recorded ones if None.

    Raises:
        RunDirError: one of them is not a run folder.
    """
    distinct = {Path(path).resolve(): Path(path) for path in paths}
    runs = [read_run(path) for path in distinct.values()]
    return _compat(runs, weights or {}) if compat_formulas else _ours(runs, weights or {})


def _ours(runs: Sequence[Run], weights: Weights) -> Report:
    benchmarks: dict[str, list[ProcessResult]] = {}
    failed: list[Failure] = []
    for run in runs:
        for record in run.records:
            process = ProcessResult(run, record)
            benchmarks.setdefault(record.name, []).append(process)
            if process.failed:
                failed.append(failures.of_process(process))
    unexplained = failures.of_benchmarks(runs, failed, weights)
    missing = Counter(failure.benchmark for failure in unexplained)
    measured_peaks = peaks(benchmarks)
    planned = _planned(runs)
    rows: list[Row] = []
    for name in sorted(benchmarks.keys() | missing.keys()):
        weight = weights.get(name)
        if name in benchmarks:
            processes = benchmarks[name]
            ranks = summarize_ranks(processes)
            rows.append(summary.row(processes, weight, missing[name], ranks, measured_peaks))
        else:
            config = planned.get(name, {})
            if weight is None:
                weight = compat.recorded_weight(config)
            rows.append(Row.unmeasured(name, missing[name], weight, config))
    infos = tuple(map(describe, runs))
    by_name = dict(sorted(benchmarks.items()))
    measured = findings.Measurements(runs, infos, rows, by_name)
    found = findings.find(measured)
    return Report(False, infos, tuple(rows), (*failed, *unexplained), found, planned)


def _planned(runs: Sequence[Run]) -> dict[str, Payload]:
    """The resolved benchmarks of the runs, as run.json has them."""
    planned: dict[str, Payload] = {}
    for run in runs:
        if run.state is not None:
            suite = run.state.header.suite
            planned |= {name: config for name, config in suite.items() if isinstance(config, dict)}
    return planned


def _compat(runs: Sequence[Run], weights: Weights) -> Report:
    benchmarks: dict[str, list[Record]] = {name: [] for name in weights}
    failed: list[Failure] = []
    left_out: list[tuple[Record, str]] = []
    for run in runs:
        for record in run.records:
            if reason := compat.why_left_out(record):
                left_out.append((record, reason))
                continue
            benchmarks.setdefault(record.name, []).append(record)
            if not compat.succeeded(record):
                process = ProcessResult(run, record)
                failed.append(failures.of_process(process))
    rows: list[Row] = []
    for name, records in sorted(benchmarks.items()):
        if records:
            rows.append(compat.row(records, weights.get(name)))
        else:
            rows.append(compat.missing(name, weights[name]))
    infos = tuple(map(describe, runs))
    measured = findings.Measurements(runs, infos, rows, {}, left_out)
    return Report(True, infos, tuple(rows), tuple(failed), findings.find(measured))
