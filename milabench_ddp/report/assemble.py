"""Reads run folders and assembles the report about them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ..errors import contained
from ..events import Status
from ..results.find_run import named_run
from ..results.read_run import read_run
from ..results.records import Payload, Record, Run, recorded_weight
from . import compat, failures
from .broken_rows import unreadable
from .findings import checks_of, findings_of
from .findings.finder import Measurements
from .mfu import peaks
from .model import Failure, Report, Row
from .order import configured
from .pooling import Difference, check_distinct, check_poolable, differences_of
from .process import ProcessResult
from .run_info import run_info
from .statistics.values import NAN
from .suite_score import milabench_score, suite_score
from .summary import milabench_row, summary_row
from .validation.judging import verdicts_of

Weights = Mapping[str, float]
NO_WEIGHTS: Weights = {}  # but those that are recorded


def report_of(
    paths: Iterable[str | Path],
    *,
    compat_formulas: bool = False,
    weights: Weights | None = None,
    baseline: str | Path | None = None,
    pool: bool = False,
    of_any_size: bool = False,
) -> Report:
    """Read run folders and calculate their report; runs of the same benchmark are pooled.

    Args:
        paths: the run folders; a folder that is named twice counts once.
        weights: of the enabled benchmarks of a configuration, by name; None: the recorded weights.
        baseline: the folder of the run that the score is relative to; not for milabench's formulas.
        of_any_size: whether to pool runs on different numbers of nodes and devices.

    Raises:
        PoolingError: the runs differ, or one is a copy of another.
        RunDirError: one of the paths is not a run folder.
    """
    runs = read_runs(paths)
    differences = differences_of(runs)
    if of_any_size:
        differences = [each for each in differences if not each.is_of_size]
    if not pool:
        check_poolable(differences)
    weights = weights or NO_WEIGHTS
    base = None if baseline is None else read_run(named_run(baseline))
    from_baseline = differences_of([*runs, base]) if base else ()
    made = report_on(runs, compat_formulas, weights, differences, from_baseline)
    if compat_formulas:
        return replace(made, score=milabench_score(made.rows))
    theirs = report_on([base]) if base else None
    return replace(made, score=suite_score(made.rows, made.runs, theirs, weights))


def read_runs(paths: Iterable[str | Path]) -> list[Run]:
    """Read run folders; one that is named twice counts once, and a copy raises PoolingError."""
    distinct = {Path(path).resolve(): Path(path) for path in paths}
    runs = [read_run(path) for path in distinct.values()]
    check_distinct(runs)
    return runs


def report_on(
    runs: Sequence[Run],
    compat_formulas: bool = False,
    weights: Weights = NO_WEIGHTS,
    differences: Sequence[Difference] = (),
    from_baseline: Sequence[Difference] = (),
) -> Report:
    """The report on runs that are read already, and may be pooled; it has no score."""
    planned = _planned(runs)
    if compat_formulas:
        rows, failed = _by_milabench(runs, weights)
    else:
        rows, failed = _by_us(runs, weights, planned)
    measured = Measurements(compat_formulas, runs, rows, differences, from_baseline, failed)
    found = findings_of(measured)
    made = Report(
        compat_formulas, tuple(map(run_info, runs)), tuple(rows), tuple(failed), found, planned
    )
    if compat_formulas:
        return made
    checks, verdicts = checks_of(measured, found), verdicts_of(measured, found)
    return replace(made, checks=checks, verdicts=verdicts)


def _planned(runs: Sequence[Run]) -> dict[str, Payload]:
    planned: dict[str, Payload] = {}
    for run in runs:
        suite = run.state.header.suite if run.state else {}
        planned |= {name: config for name, config in suite.items() if isinstance(config, dict)}
    return planned


def _by_us(
    runs: Sequence[Run], weights: Weights, planned: Mapping[str, Payload]
) -> tuple[list[Row], list[Failure]]:
    processes_of: dict[str, list[ProcessResult]] = defaultdict(list)
    failed: list[Failure] = []
    broken: dict[str, Exception] = {}  # benchmarks of which no report can be made
    without_file: Counter[str] = Counter()  # processes
    for run in runs:
        without_file.update({name: len(tags) for name, tags in run.missing.items()})
        for record in run.records:
            process = ProcessResult(run, record)
            with contained(partial(broken.setdefault, record.name)):
                if process.status is Status.SKIPPED:
                    continue  # its benchmark is among those that did not run
                processes_of[record.name].append(process)
                if process.failed:
                    failed.append(failures.process_failure(process))
    unexplained = failures.benchmark_failures(runs, failed, weights)
    failed += [*unexplained, *failures.missing_records(runs)]
    missing = Counter(failure.benchmark for failure in unexplained)
    measured_peaks = peaks(processes_of)
    rows: list[Row] = []
    for name in configured({*processes_of, *missing, *without_file, *broken}, planned):
        weight, lost = weights.get(name), without_file[name]
        processes, config = processes_of.get(name, []), planned.get(name, {})
        stated = recorded_weight(config) if weight is None else weight
        made = Row.unmeasured(name, missing[name] + lost, stated, config)
        with contained(partial(broken.setdefault, name)):
            if processes:
                made = summary_row(processes, weight, missing[name], measured_peaks)
                made = replace(made, n=made.n + lost, fail=made.fail + lost)
        if name in broken:
            made, failure = unreadable(name, stated, len(processes) + lost, broken[name])
            failed.append(failure)
        rows.append(made)
    return rows, failed


def _by_milabench(runs: Sequence[Run], weights: Weights) -> tuple[list[Row], list[Failure]]:
    records_of: dict[str, list[Record]] = defaultdict(list)
    failed: list[Failure] = []
    for run in runs:
        for record in run.records:
            if not compat.why_left_out(record):
                records_of[record.name].append(record)
                if not compat.succeeded(record):
                    failed.append(failures.process_failure(ProcessResult(run, record)))
    rows: list[Row] = []
    for name in sorted({*records_of, *weights}):
        if name in records_of:
            rows.append(milabench_row(records_of[name], weights.get(name)))
        else:
            rows.append(Row.unmeasured(name, NAN, weights[name], {}, n=NAN))
    return rows, failed
