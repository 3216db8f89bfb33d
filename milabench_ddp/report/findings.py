"""Findings: what was left out, what is wrong, and what stands out.

To add a finding, write a function, and add a line with its name, severity and advice to one of two
dicts. ``RUN_FINDINGS`` has functions ``Measurements -> Findings``; ``BENCHMARK_FINDINGS`` has
functions ``Row -> Findings``, and their sentences are prefixed with the benchmark's name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..events import Status
from ..results.records import Run
from . import compat
from .bandwidth import slow_links
from .checked_gradients import checked_gradients
from .device_problems import device_faults, device_notes
from .host_bound import host_bound, warm_cache
from .interval import Series, interval, pooled_mean
from .measured_devices import other_devices, other_software
from .mfu import above_peak, hardware_above_peak, told_by_a_part
from .model import Finding, Findings, Row, Rows, RunInfo, Severity
from .node_differences import different_nodes, lacking_nodes, unused_nodes
from .pooling import Difference, has_local_changes, mixed_facts
from .process import counted, units_of
from .stragglers import SURE, slow_devices, slow_ranks
from .strategies import misaligned_widths
from .unsteady import (
    few_observations,
    few_visits,
    no_steady_state,
    start_up_left_out,
    time_between_observations,
)
from .utilisation import Peak

NOTE, WARNING = Severity.NOTE, Severity.WARNING
Subject = TypeVar("Subject")
APART_BY = 0.05  # launches of the same benchmark differ by 1 to 2 %


@dataclass(frozen=True)
class Measurements:
    """The input of the findings about runs."""

    compat: bool  # whether the rows are by milabench's formulas
    runs: Sequence[Run]
    infos: Sequence[RunInfo]  # of the same runs
    rows: Rows  # in the order of their names
    differences: Sequence[Difference] = ()  # between the runs
    from_baseline: Sequence[Difference] = ()  # between the runs and the baseline of the score


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


def pooled_runs(measured: Measurements) -> Findings:
    """How many runs are pooled."""
    folders = [str(run.path) for run in measured.runs]
    if len(folders) > 1:
        sentence = f"{len(folders)} runs are pooled: {', '.join(folders)}"
        yield Finding(sentence, evidence={"runs": folders})


def pooled_differences(measured: Measurements) -> Findings:
    """What the pooled runs differ in."""
    for differs in measured.differences:
        yield Finding(f"runs that differ are pooled: {differs}", evidence={"runs": differs.runs})


def baseline_differences(measured: Measurements) -> Findings:
    """What the runs and the baseline of the score differ in."""
    for differs in measured.from_baseline:
        sentence = f"the score compares runs that differ: {differs}"
        yield Finding(sentence, evidence={"runs": differs.runs})


def mixed_runs(measured: Measurements) -> Findings:
    """Runs whose results are from different software or hardware."""
    for run in measured.runs:
        for name, values in mixed_facts(run):
            sentence = f"{run.path}: its results differ in {name}: {', '.join(values)}"
            yield Finding(sentence, place=str(run.path), evidence={"values": values})


def local_changes(measured: Measurements) -> Findings:
    """Pooled runs of which it is not known whether their code is equal."""
    folders = [str(run.path) for run in measured.runs if has_local_changes(run)]
    if len(folders) > 1:
        sentence = f"milabench had local changes, which may differ, in {', '.join(folders)}"
        yield Finding(sentence, evidence={"runs": folders})


def different_speeds(row: Row) -> Findings:
    """Pooled runs whose speeds differ by more than launches do.

    How much those differ is known of runs with several launches alone: the steps within a launch
    do not show it.
    """
    if math.isnan(row.perf):
        return
    launches: dict[str, dict[tuple[str, str], list[Series]]] = {}  # of each run
    for process in counted(row.processes):
        if process.series is not None:
            of_run = launches.setdefault(str(process.run.path), {})
            of_run.setdefault(process.launch, []).append(process.series)
    speeds = []
    for folder, of_run in launches.items():
        series = list(of_run.values())
        sure = interval(series) if len(series) > 1 else None
        speeds.append((pooled_mean(series), sure.sem if sure else 0.0, folder))
    if len(speeds) < 2:
        return
    slow, fast = min(speeds), max(speeds)
    apart = fast[0] - slow[0]
    if apart <= max(APART_BY * fast[0], SURE * math.hypot(slow[1], fast[1])):
        return
    shown = ", ".join(f"{speed:.5g} ({folder})" for speed, _, folder in (slow, fast))
    allowed = "chance" if slow[1] and fast[1] else f"the {APART_BY:.0%} that single launches may be"
    sentence = f"the pooled runs are {apart / fast[0]:.1%} apart, more than {allowed}: {shown}"
    sentence += f" {row.unit}"
    evidence = {"slowest": slow[0], "fastest": fast[0], "apart": apart / fast[0]}
    yield Finding(sentence.rstrip(), evidence=evidence)


def several_units(row: Row) -> Findings:
    """Rates of one benchmark in several units."""
    known = units_of(counted(row.processes))
    if len(known) > 1:
        sentence = f"its rates have several units, so they have no mean: {', '.join(known)}"
        yield Finding(sentence, evidence={"values": known})


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
    peaks: set[Peak] = set()
    for row in measured.rows:
        peaks |= set(row.used.peaks)
    for peak in sorted(peaks, key=lambda peak: (peak.precision, peak.benchmark)):
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


def unknown_writers(row: Row) -> Findings:
    """Rates that do not tell their rank, where several ranks may have written them."""
    for process in row.processes:
        if process.record.told.reopened:
            tag = process.record.tag
            yield Finding(
                f"{tag}: its rates do not tell their `rank`, and $MILABENCH_METRICS was opened for "
                f"each line: if several ranks wrote them, perf is not the rate of all",
                place=tag,
            )


def memory_not_sampled(row: Row) -> Findings:
    """The peak memory is the program's own figure, since that of the device was not sampled."""
    if row.reserved >= 0 and row.summary.peak_memory_source != "device":
        yield Finding("peak_memory is what the program reserved; the device was not sampled")


APART = "report on each run alone"
RUN_FINDINGS: Mapping[str, Finder[Measurements]] = {
    "damaged_file": Finder(damaged_files, WARNING),
    "pooled_runs": Finder(pooled_runs, NOTE),
    "pooled_differences": Finder(pooled_differences, WARNING, APART),
    "baseline_differences": Finder(baseline_differences, NOTE),
    "mixed_run": Finder(mixed_runs, WARNING, "repeat it as a new run"),
    "local_changes": Finder(local_changes, WARNING, "commit before a run"),
    "left_out_by_milabench": Finder(left_out_by_milabench, WARNING, "read it without --compat"),
    "unused_node": Finder(lambda measured: unused_nodes(measured.runs), WARNING),
    "lacking_node": Finder(lambda measured: lacking_nodes(measured.runs), WARNING),
    "different_nodes": Finder(
        lambda measured: different_nodes(measured.runs), WARNING, "make the nodes alike"
    ),
    "device_fault": Finder(lambda measured: device_faults(measured.runs), WARNING),
    "device_note": Finder(lambda measured: device_notes(measured.runs), NOTE),
    "measured_peak": Finder(measured_peaks, NOTE),
    "few_observations": Finder(
        lambda measured: few_observations(measured.rows), NOTE, "let them run for longer, or repeat"
    ),
}
BENCHMARK_FINDINGS: Mapping[str, Finder[Row]] = {
    "other_device": Finder(other_devices, WARNING, "look at what sets CUDA_VISIBLE_DEVICES"),
    "other_software": Finder(other_software, NOTE),
    "several_units": Finder(several_units, WARNING, APART),
    "different_speeds": Finder(different_speeds, WARNING, APART),
    "nothing_measured": Finder(nothing_measured, WARNING, "let it run for longer"),
    "unusable_rates": Finder(unusable_rates, WARNING, "mend the lines that the program writes"),
    "unknown_writers": Finder(unknown_writers, WARNING, 'add "rank" to each line'),
    "above_peak": Finder(above_peak, WARNING, "check the FLOP of its model, and its precision"),
    "hardware_above_peak": Finder(
        hardware_above_peak, WARNING, "check its ratio of hardware FLOP to those of the model"
    ),
    "told_by_a_part": Finder(told_by_a_part, WARNING, "let each process tell the same"),
    "misaligned_widths": Finder(
        misaligned_widths,
        WARNING,
        "choose a model, or a number of ranks, whose shards are multiples of 8",
    ),
    "no_steady_state": Finder(no_steady_state, WARNING, "let it warm up for longer"),
    "few_visits": Finder(few_visits, WARNING, "let it run for longer, or repeat it"),
    "time_between_observations": Finder(
        time_between_observations, NOTE, "measure it in the rate if it is part of the training"
    ),
    "start_up_left_out": Finder(start_up_left_out, NOTE),
    "memory_not_sampled": Finder(memory_not_sampled, NOTE),
    "host_bound": Finder(host_bound, WARNING, "give it larger batches, or compile it"),
    "warm_cache": Finder(warm_cache, NOTE),
    "slow_device": Finder(slow_devices, NOTE, "look at its clocks, heat and neighbours"),
    "slow_rank": Finder(slow_ranks, NOTE, "look at what it does in that part of a step"),
    "slow_link": Finder(slow_links, NOTE, "look at its cable, its switch and `nvidia-smi nvlink`"),
    "checked_gradients": Finder(checked_gradients, NOTE),
}
