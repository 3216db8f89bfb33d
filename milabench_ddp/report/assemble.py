"""Run folders -> the report about them: where, when and on what each was measured, and what."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from ..events import Status
from ..results.read_run import read_run
from ..results.records import Payload, Record, Run, is_finite, recorded_weight
from . import compat, failures, findings
from .mfu import peaks
from .model import Failure, Report, Row, RunInfo
from .process import Measurements, ProcessResult
from .ranks import summarize_ranks
from .statistics import NAN
from .summary import summary_row

Weights = Mapping[str, float]
_YEAR_10000 = 253402300800  # seconds since the epoch: calendars end there


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
                failed.append(failures.process_failure(process))
    unexplained = failures.benchmark_failures(runs, failed, weights)
    missing = Counter(failure.benchmark for failure in unexplained)
    measured_peaks = peaks(benchmarks)
    planned = _planned(runs)
    rows: list[Row] = []
    for name in sorted(benchmarks.keys() | missing.keys()):
        weight = weights.get(name)
        if name in benchmarks:
            processes = benchmarks[name]
            ranks = summarize_ranks((p.record, p.unsteady_steps) for p in processes)
            rows.append(summary_row(processes, weight, missing[name], ranks, measured_peaks))
        else:
            config = planned.get(name, {})
            if weight is None:
                weight = recorded_weight(config)
            rows.append(Row.unmeasured(name, missing[name], weight, config))
    infos = tuple(map(run_info, runs))
    by_name = dict(sorted(benchmarks.items()))
    measured = Measurements(runs, infos, rows, by_name)
    found = findings.findings_of(measured)
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
                failed.append(failures.process_failure(process))
    rows: list[Row] = []
    for name, records in sorted(benchmarks.items()):
        if records:
            rows.append(compat.milabench_row(records, weights.get(name)))
        else:
            rows.append(Row.unmeasured(name, NAN, weights[name], {}, n=NAN))
    infos = tuple(map(run_info, runs))
    measured = Measurements(runs, infos, rows, {}, left_out)
    return Report(True, infos, tuple(rows), tuple(failed), findings.findings_of(measured))


def run_info(run: Run) -> RunInfo:
    """The head of the report of a run; what its files do not say is left empty."""
    meta: Payload = next((record.meta for record in run.records if record.meta), {})
    header = run.state.header if run.state else None
    cpu = _mapping(meta, "cpu")
    started, ended = _span(run)
    arch = _arch(run, meta)
    return RunInfo(
        name=run.name,
        path=run.path,
        outcome=header.outcome if header else "",
        preset=header.preset if header else "",
        started=started,
        seconds=ended - started if started is not None and ended is not None else None,
        host=str(_mapping(meta, "os").get("nodename") or ""),
        cpu=" x ".join(str(cpu[key]) for key in ("count", "brand") if cpu.get(key)),
        devices=_devices(meta) or ("no GPU" if arch == "cpu" else ""),
        arch=arch,
        version=_version(meta),
        waiting=run.in_status(Status.WAITING),
        running=run.in_status(Status.RUNNING),
        skipped=tuple(run.skipped),
    )


def _arch(run: Run, meta: Payload) -> str:
    if arch := _mapping(meta, "accelerators").get("arch"):
        return str(arch)
    for record in run.records:
        if arch := record.config.get("arch"):
            return str(arch)
    return ""


def _devices(meta: Payload) -> str:
    products: Counter[str] = Counter()
    gpus = _mapping(_mapping(meta, "accelerators"), "gpus")
    for index in gpus:
        products[str(_mapping(gpus, index).get("product") or "unnamed device")] += 1
    return ", ".join(f"{count} x {name}" for name, count in products.items())


def _version(meta: Payload) -> str:
    versions = []
    if torch := _mapping(meta, "pytorch").get("torch"):
        versions.append(f"torch {torch}")
    if milabench := _mapping(meta, "milabench").get("tag"):
        versions.append(f"milabench {milabench}")
    return ", ".join(versions)


def _span(run: Run) -> tuple[float | None, float | None]:
    """When the run began and ended, in seconds since the epoch."""
    starts = [record.start.get("time") for record in run.records if record.start]
    ends = [record.end.get("time") for record in run.records if record.end]
    if run.state is not None:
        starts.append(run.state.header.created)
        ends.append(run.state.header.ended)
    first = min(filter(_is_time, starts), default=None)
    return first, None if run.goes_on else max(filter(_is_time, ends), default=None)


def _is_time(value: object) -> TypeGuard[float]:
    return is_finite(value) and 0 <= value < _YEAR_10000


def _mapping(payload: Payload, key: str) -> Payload:
    value = payload.get(key)
    return value if isinstance(value, Mapping) else {}
