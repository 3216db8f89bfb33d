"""Findings about runs and their files: damaged ones, and runs that are pooled but differ."""

import math
from collections import defaultdict

from ...results.records import mapping_or_empty
from .. import compat
from ..finding import Finding, Findings
from ..model import Row
from ..pooling import has_local_changes, mixed_facts
from ..process import ProcessResult, counted, series_by_launch
from ..ranks.stragglers import SURE
from ..statistics.interval import interval, pooled_mean
from .finder import Measurements

APART_BY = 0.05  # launches of the same benchmark differ by 1 to 2 %


def damaged_files(measured: Measurements) -> Findings:
    """Files that are damaged or incomplete."""
    for run in measured.runs:
        for defect in run.defects:
            evidence = {"line": defect.line, "count": defect.count}
            yield Finding(str(defect), place=str(defect.path), evidence=evidence)


def pooled_runs(measured: Measurements) -> Findings:
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


def unknown_versions(measured: Measurements) -> Findings:
    """Runs that recorded their software, and not the version of milabench."""
    for run in measured.runs:
        if run.state is not None and run.state.header.milabench:
            continue
        told = [record.meta["milabench"] for record in run.records if "milabench" in record.meta]
        tags = {mapping_or_empty(each).get("tag") for each in told}
        if told and tags <= {None, "", "<tag>"}:
            sentence = f"{run.path}: the version of milabench is not known"
            yield Finding(sentence, place=str(run.path))


def local_changes(measured: Measurements) -> Findings:
    """Pooled runs of which it is not known whether their code is equal."""
    folders = [str(run.path) for run in measured.runs if has_local_changes(run)]
    if len(folders) > 1:
        sentence = f"milabench had local changes, which may differ, in {', '.join(folders)}"
        yield Finding(sentence, evidence={"runs": folders})


def left_out_by_milabench(measured: Measurements) -> Findings:
    """Files that milabench's formulas do not count."""
    if not measured.compat:
        return
    for run in measured.runs:
        for record in run.records:
            if reason := compat.why_left_out(record):
                sentence = f"{record.path}: left out, as milabench does: {reason}"
                yield Finding(sentence, place=str(record.path))


def different_speeds(row: Row) -> Findings:
    """Pooled runs whose speeds differ by more than launches do.

    How much those differ is known of runs with several launches alone: the steps within a launch
    do not show it.
    """
    if math.isnan(row.perf):
        return
    runs: dict[str, list[ProcessResult]] = defaultdict(list)
    for process in counted(row.processes):
        runs[str(process.run.path)].append(process)
    speeds = []
    for folder, processes in runs.items():
        if launches := series_by_launch(processes):
            sure = interval(launches) if len(launches) > 1 else None
            speeds.append((pooled_mean(launches), sure.sem if sure else 0.0, folder))
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
