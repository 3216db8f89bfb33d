"""Findings: what was left out, what is wrong, and what stands out.

To add a finding, write a function, and add a line with its name, severity and advice to one of two
dicts. ``RUN_FINDINGS`` has functions ``Measurements -> Findings``; ``BENCHMARK_FINDINGS`` has
functions ``Row -> Findings``, and their sentences are prefixed with the benchmark's name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..events import Status
from ..results.records import Payload, Run, is_finite
from . import compat
from .model import Finding, Findings, Row, Rows, RunInfo, Severity
from .stragglers import slow_devices, slow_ranks

NOTE, WARNING = Severity.NOTE, Severity.WARNING
Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Measurements:
    """The input of the findings about runs."""

    compat: bool  # whether the rows are by milabench's formulas
    runs: Sequence[Run]
    infos: Sequence[RunInfo]  # of the same runs
    rows: Rows  # in the order of their names


@dataclass(frozen=True)
class Finder(Generic[Subject]):
    """The function for one kind of finding, with its severity and its advice."""

    find: Callable[[Subject], Findings]
    severity: Severity
    advice: str = ""  # what to do about it

    def findings(self, name: str, subject: Subject) -> Findings:
        """The findings about a subject, with their name, severity and advice filled in."""
        for finding in self.find(subject):
            yield replace(finding, name=name, severity=self.severity, advice=self.advice)


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings: first those about runs and files, then benchmark by benchmark."""
    found: list[Finding] = []
    for name, of_runs in RUN_FINDINGS.items():
        found += of_runs.findings(name, measured)
    for row in measured.rows:
        for name, of_row in BENCHMARK_FINDINGS.items():
            for finding in of_row.findings(name, row):
                sentence = f"{row.name}: {finding.sentence}"
                found.append(replace(finding, sentence=sentence, benchmark=row.name))
    return tuple(found)


def damaged_files(measured: Measurements) -> Findings:
    """Files that are damaged or incomplete."""
    for run in measured.runs:
        for defect in run.defects:
            evidence = {"line": defect.line, "count": defect.count}
            yield Finding(str(defect), place=str(defect.path), evidence=evidence)


def different_presets(measured: Measurements) -> Findings:
    """Runs with different presets are pooled into one number."""
    presets = {info.preset for info in measured.infos}
    return _pooled("runs with different presets are pooled", presets)


def different_devices(measured: Measurements) -> Findings:
    """Runs on different devices are pooled into one number."""
    devices = {info.devices for info in measured.infos}
    return _pooled("runs with different devices are pooled", devices)


def several_units(row: Row) -> Findings:
    """Rates of one benchmark in several units."""
    units = {process.record.units for process in row.processes}
    return _pooled("its rates have several units, and are pooled", units)


def several_node_counts(row: Row) -> Findings:
    """Runs of one benchmark on different numbers of nodes."""
    configs = [process.record.config for process in row.processes]
    counts = {str(config.get("num_machines", 1)) for config in configs}
    return _pooled("runs on different numbers of nodes are pooled", counts)


def _pooled(sentence: str, values: set[str]) -> Findings:
    known = sorted(filter(None, values))
    if len(known) > 1:
        yield Finding(f"{sentence}: {', '.join(known)}", evidence={"values": known})


def left_out_by_milabench(measured: Measurements) -> Findings:
    """Files that milabench's formulas do not count."""
    if not measured.compat:
        return
    for run in measured.runs:
        for record in run.records:
            if reason := compat.why_left_out(record):
                sentence = f"{record.path}: left out, as milabench does: {reason}"
                yield Finding(sentence, place=str(record.path))


def measured_peaks(measured: Measurements) -> Findings:
    """The peak that MFU is a fraction of."""
    peaks = {row.peak for row in measured.rows}
    known = [peak for peak in peaks if peak is not None]
    for peak in sorted(known, key=lambda peak: (peak.precision, peak.benchmark)):
        speed = f"{peak.tflop_s:.4g} TFLOP/s"
        sentence = (
            f"MFU in {peak.precision} is relative to the {speed} that {peak.benchmark} measured"
        )
        yield Finding(sentence, evidence={"tflop_s": peak.tflop_s})


def nothing_measured(row: Row) -> Findings:
    """Processes that still run, but have no rate outside of warm-up; ended ones have failed."""
    for process in row.processes:
        if process.status is Status.RUNNING and process.series is None and process.record.reports:
            tag = process.record.tag
            missing = "only warm-up" if process.warmup_marked else "no training rate"
            yield Finding(f"{tag}: {missing} was measured yet", place=tag)


def unusable_rates(row: Row) -> Findings:
    """Rates that are left out of all numbers, beside others that count."""
    for process in row.processes:
        told, tag = process.record.told, process.record.tag
        left_out = told.unusable + told.untasked
        if told.usable and left_out:
            total = left_out + told.usable + told.warmup
            sentence = f"{tag}: {left_out} of {total} rates left out: {told.flaws}"
            yield Finding(sentence, place=tag, evidence={"left_out": left_out, "rates": total})


def no_steady_state(row: Row) -> Findings:
    """Rates that still rise or fall at the end."""
    unsteady = [process for process in row.processes if process.steady.problem]
    if unsteady:
        tag, count = unsteady[0].record.tag, len(row.processes)
        sentence = f"{tag}: {unsteady[0].steady.problem}"
        if count > 1:
            sentence += f" (in {len(unsteady)} of {count} processes)"
        evidence = {"unsteady": len(unsteady), "processes": count}
        yield Finding(sentence, place=tag, evidence=evidence)


def start_up_left_out(row: Row) -> Findings:
    """Observations before the steady state, which are left out of all numbers."""
    left_out = row.summary.warmup_detected
    if left_out:
        total = left_out + row.summary.observations
        count = len(row.processes)
        of = f" of {count} processes" if count > 1 else ""
        sentence = f"{left_out} of {total} observations{of} left out: before steady state"
        yield Finding(sentence, evidence={"left_out": left_out, "observations": total})


def memory_not_sampled(row: Row) -> Findings:
    """The peak memory is the program's own figure, since the device was not sampled."""
    sampled = any(process.record.samples for process in row.processes)
    if row.reserved >= 0 and not sampled:
        yield Finding("peak_memory is what the program reserved; the device was not sampled")


def checked_gradients(row: Row) -> Findings:
    """The results of ``--check-correctness``; equal ones are counted."""
    checks = [process.record.reported("correctness") for process in row.processes]
    for sentence, count in Counter(map(_check, filter(None, checks))).items():
        times = f" ({count} processes)" if count > 1 else ""
        yield Finding(f"{sentence}{times}", evidence={"count": count})


def _check(check: Payload) -> str:
    error, precision = check.get("gradient_error"), check.get("precision")
    differ = f"differ by {error:.2g}" if is_finite(error) else "differ"
    sentence = (
        f"its gradients {differ} (relative, at most {check.get('tolerance')}) from those of "
        f"{check.get('reference', 'the reference')}"
    )
    if isinstance(precision, str):
        sentence += f" in {precision}"
    if check.get("ok") is True:
        return sentence
    return f"WRONG: {sentence}: it does not train correctly, so its speed means nothing"


APART = "report on each run alone"
RUN_FINDINGS: Mapping[str, Finder[Measurements]] = {
    "damaged_file": Finder(damaged_files, WARNING),
    "different_presets": Finder(different_presets, WARNING, APART),
    "different_devices": Finder(different_devices, WARNING, APART),
    "left_out_by_milabench": Finder(left_out_by_milabench, WARNING, "read it without --compat"),
    "measured_peak": Finder(measured_peaks, NOTE),
}
BENCHMARK_FINDINGS: Mapping[str, Finder[Row]] = {
    "several_units": Finder(several_units, WARNING, APART),
    "several_node_counts": Finder(several_node_counts, WARNING, APART),
    "nothing_measured": Finder(nothing_measured, WARNING, "let it run for longer"),
    "unusable_rates": Finder(unusable_rates, WARNING, "mend the lines that the program writes"),
    "no_steady_state": Finder(no_steady_state, WARNING, "let it warm up for longer"),
    "start_up_left_out": Finder(start_up_left_out, NOTE),
    "memory_not_sampled": Finder(memory_not_sampled, NOTE),
    "slow_device": Finder(slow_devices, NOTE, "look at its clocks, heat and neighbours"),
    "slow_rank": Finder(slow_ranks, NOTE, "look at what it does in that part of a step"),
    "checked_gradients": Finder(checked_gradients, NOTE),
}
