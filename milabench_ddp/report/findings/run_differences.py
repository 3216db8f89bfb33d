"""Findings about runs and their files: damaged ones, and runs that are pooled but differ."""

from ...results.records import mapping_or_empty
from .. import compat
from ..pooling import has_local_changes, mixed_facts
from .finder import Finds, Found, Measurements, finding

APART = "report on each run alone"


@finding("warning", "{defect}")
def damaged_file(measured: Measurements) -> Finds:
    for run in measured.runs:
        for defect in run.defects:
            yield Found(
                str(defect.path),
                evidence={"line": defect.line, "count": defect.count},
                words={"defect": defect},
            )


@finding("note", "{count} runs are pooled: {folders}")
def pooled_runs(measured: Measurements) -> Finds:
    folders = [str(run.path) for run in measured.runs]
    if len(folders) > 1:
        yield Found(
            "", {"runs": folders}, words={"count": len(folders), "folders": ", ".join(folders)}
        )


@finding("warning", "runs that differ are pooled: {difference}", APART)
def pooled_differences(measured: Measurements) -> Finds:
    for each in measured.differences:
        yield Found("", {"runs": each.runs}, {"difference": each})


@finding("note", "the score compares runs that differ: {difference}")
def baseline_differences(measured: Measurements) -> Finds:
    for each in measured.from_baseline:
        yield Found("", {"runs": each.runs}, {"difference": each})


@finding(
    "warning",
    "{place}: its results differ in {name}: {shown}",
    "repeat it as a new run",
)
def mixed_run(measured: Measurements) -> Finds:
    """Runs whose results are from different software or hardware."""
    for run in measured.runs:
        for name, values in mixed_facts(run):
            yield Found(
                str(run.path), {"values": values}, words={"name": name, "shown": ", ".join(values)}
            )


@finding("note", "{place}: the version of milabench is not known", layer="version")
def unknown_version(measured: Measurements) -> Finds:
    """Runs that recorded their software, and not the version of milabench."""
    for run in measured.runs:
        if run.state is not None and run.state.header.milabench:
            continue
        told = [record.meta["milabench"] for record in run.records if "milabench" in record.meta]
        tags = {mapping_or_empty(each).get("tag") for each in told}
        if tags and tags <= {None, "", "<tag>"}:
            yield Found(str(run.path))


@finding(
    "warning",
    "milabench had local changes, which may differ, in {folders}",
    "commit before a run",
)
def local_changes(measured: Measurements) -> Finds:
    """Pooled runs of which it is not known whether their code is equal."""
    folders = [str(run.path) for run in measured.runs if has_local_changes(run)]
    if len(folders) > 1:
        yield Found("", {"runs": folders}, {"folders": ", ".join(folders)})


@finding(
    "warning",
    "{place}: left out, as milabench does: {reason}",
    "read it without --compat",
)
def left_out_by_milabench(measured: Measurements) -> Finds:
    for record in measured.records if measured.compat else ():
        if reason := compat.why_left_out(record):
            yield Found(str(record.path), words={"reason": reason})
