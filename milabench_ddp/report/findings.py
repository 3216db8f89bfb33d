"""What a reader of the numbers must know: what was left out, what is wrong, what stands out.

A new finding is a function ``Measurements -> Iterator[Finding]`` and a line in ``FINDINGS``.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from ..events import Status
from ..results.records import Payload, Record, Run, is_finite
from .model import Finding, Row, RunInfo, Severity
from .process import Processes
from .stragglers import slow_device, slowest_part, stragglers

MORE_WARMUP = "mark more steps as warm-up, or measure for longer"
LEFT_OUT_ADVICE = "read them without --compat"
WRONG = ": it does not train as it should, and its speed means nothing"


@dataclass(frozen=True)
class Measurements:
    """What findings are made from."""

    runs: Sequence[Run]
    infos: Sequence[RunInfo]  # of the same runs
    rows: Sequence[Row]
    benchmarks: Mapping[str, Processes]  # by name; empty with milabench's formulas
    left_out: Sequence[tuple[Record, str]] = ()  # by milabench's formulas, and why


Finder = Callable[[Measurements], Iterator[Finding]]


def find(measured: Measurements) -> tuple[Finding, ...]:
    """All findings: first those about runs and files, then benchmark by benchmark."""
    found: list[Finding] = []
    for name, finder in FINDINGS.items():
        found += [replace(finding, name=name) for finding in finder(measured)]
    return tuple(sorted(found, key=lambda finding: finding.benchmark))


def damaged_files(measured: Measurements) -> Iterator[Finding]:
    """Files that are damaged or incomplete."""
    for run in measured.runs:
        for defect in run.defects:
            evidence = {"line": defect.line, "count": defect.count}
            place = str(defect.path)
            yield Finding(Severity.WARNING, str(defect), place=place, evidence=evidence)


def different_presets(measured: Measurements) -> Iterator[Finding]:
    """Runs of different presets are one number."""
    yield from _pooled("preset", {info.preset for info in measured.infos})


def different_devices(measured: Measurements) -> Iterator[Finding]:
    """Runs on different devices are one number."""
    yield from _pooled("devices", {info.devices for info in measured.infos})


def _pooled(what: str, values: set[str]) -> Iterator[Finding]:
    known = sorted(filter(None, values))
    if len(known) > 1:
        sentence = f"runs with different {what} are pooled: {', '.join(known)}"
        advice = "report on each of them alone"
        yield Finding(Severity.WARNING, sentence, evidence={what: known}, advice=advice)


def left_out_by_milabench(measured: Measurements) -> Iterator[Finding]:
    """Files that milabench's formulas do not count."""
    for record, reason in measured.left_out:
        sentence = f"{record.path}: left out, as milabench does: {reason}"
        place = str(record.path)
        yield Finding(Severity.WARNING, sentence, place=place, advice=LEFT_OUT_ADVICE)


def several_units(measured: Measurements) -> Iterator[Finding]:
    """Rates of one benchmark in several units."""
    for name, processes in measured.benchmarks.items():
        units = sorted({p.record.units for p in processes if p.record.units})
        if len(units) > 1:
            sentence = f"{name}: its rates have several units, and are pooled: {', '.join(units)}"
            yield Finding(Severity.WARNING, sentence, name, evidence={"units": units})


def several_node_counts(measured: Measurements) -> Iterator[Finding]:
    """Runs of one benchmark on different numbers of nodes."""
    for name, processes in measured.benchmarks.items():
        counts = sorted({str(p.record.config.get("num_machines", 1)) for p in processes})
        if len(counts) > 1:
            listed = ", ".join(counts)
            sentence = f"{name}: runs on different numbers of nodes are pooled: {listed}"
            yield Finding(Severity.WARNING, sentence, name, evidence={"nodes": counts})


def nothing_measured(measured: Measurements) -> Iterator[Finding]:
    """Processes that ended ok, or still run, without a rate that counts."""
    for name, processes in measured.benchmarks.items():
        for process in processes:
            is_running = process.status is Status.RUNNING
            if process.series is not None or not process.record.reports:
                continue
            if not is_running and process.status is not Status.OK:
                continue
            what = "only warm-up" if process.warmup_marked else "no training rate"
            yet = " yet" if is_running else ""
            tag = process.record.tag
            sentence = f"{name}: {tag}: {what} was measured{yet}"
            yield Finding(Severity.WARNING, sentence, name, tag)


def no_steady_state(measured: Measurements) -> Iterator[Finding]:
    """Rates that still rise or fall at the end."""
    for name, processes in measured.benchmarks.items():
        unsteady = [process for process in processes if process.steady.problem]
        if unsteady:
            first, count = unsteady[0], len(processes)
            sentence = f"{name}: {first.record.tag}: {first.steady.problem}"
            if count > 1:
                sentence += f" (in {len(unsteady)} of {count} processes)"
            evidence = {"unsteady": len(unsteady), "processes": count}
            tag = first.record.tag
            yield Finding(Severity.WARNING, sentence, name, tag, evidence, MORE_WARMUP)


def start_up_left_out(measured: Measurements) -> Iterator[Finding]:
    """Observations before the steady state, which no number holds."""
    for name, processes in measured.benchmarks.items():
        left_out = sum(process.steady.start for process in processes)
        if left_out:
            total = sum(len(process.measured) for process in processes)
            of = f" of {len(processes)} processes" if len(processes) > 1 else ""
            share = f"{left_out} of {total} observations{of}"
            sentence = f"{name}: {share} left out: before steady state"
            evidence = {"left_out": left_out, "observations": total}
            yield Finding(Severity.NOTE, sentence, name, evidence=evidence)


def memory_not_sampled(measured: Measurements) -> Iterator[Finding]:
    """The peak of memory is the program's word."""
    for row in measured.rows:
        sampled = any(p.record.samples for p in measured.benchmarks.get(row.name, ()))
        is_reported = any(not isnan(rank.reserved) for rank in row.ranks)
        if is_reported and not sampled:
            sentence = (
                f"{row.name}: peak_memory is what the program reserved; the device was not sampled"
            )
            yield Finding(Severity.NOTE, sentence, row.name)


def slow_devices(measured: Measurements) -> Iterator[Finding]:
    """The slowest of three devices and more, where it is really slower than the others."""
    for name, processes in measured.benchmarks.items():
        found = slow_device(processes)
        if found is not None:
            unit = next((p.record.units for p in processes if p.record.units), "")
            rates = f"{found.rate:.5g} against {found.typical:.5g} {unit}".rstrip()
            sentence = (
                f"{name}: {found.id.label} is {found.slower:.1%} slower than the median of the "
                f"others ({rates})"
            )
            evidence = {"rate": found.rate, "median": found.typical, "slower": found.slower}
            advice = "compare its clocks, its temperature and its neighbours with the others'"
            yield Finding(Severity.NOTE, sentence, name, found.id.label, evidence, advice)


def slow_ranks(measured: Measurements) -> Iterator[Finding]:
    """The ranks of a job that hold the others up."""
    for row in measured.rows:
        alone = [p for p in measured.benchmarks.get(row.name, ()) if p.record.device is not None]
        found, typical = stragglers(row.ranks)
        if alone or not found:
            continue
        first = found[0]
        part, more = slowest_part(first, row.ranks), first.local_ms / typical - 1
        sentence = (
            f"{row.name}: {first.id.label} is {more:.1%} slower than the median of the others in "
            f"its own work ({first.local_ms:.5g} against {typical:.5g} ms a step, mostly {part}): "
            "they wait for it"
        )
        if len(found) > 1:
            sentence += f"; and for {len(found) - 1} more"
            nodes = {rank.id.node for rank in found[1:]}
            if len(nodes) == 1 and "" not in nodes:
                sentence += f", all of {nodes.pop()}"
        evidence = {"local_ms": first.local_ms, "median_ms": typical, "part": part}
        advice = "look at what it does in that part of a step that the others do not"
        yield Finding(Severity.NOTE, sentence, row.name, first.id.label, evidence, advice)


def checked_gradients(measured: Measurements) -> Iterator[Finding]:
    """What ``--check-correctness`` came to, each verdict once."""
    for name, processes in measured.benchmarks.items():
        facts = [process.record.facts for process in processes]
        checks = Counter(_check(each["correctness"]) for each in facts if "correctness" in each)
        for text, count in checks.items():
            times = f" ({count} processes)" if count > 1 else ""
            yield Finding(Severity.NOTE, f"{name}: {text}{times}", name, evidence={"count": count})


def _check(check: Payload) -> str:
    is_right = check.get("ok") is True
    error, precision = check.get("gradient_error"), check.get("precision")
    differ = f"differ by {error:.2g}" if is_finite(error) else "differ"
    sentence = (
        f"its gradients {differ} (relative, at most {check.get('tolerance')}) from those of "
        f"{check.get('reference', 'the reference')}"
    )
    if isinstance(precision, str):
        sentence += f" in {precision}"
    return sentence if is_right else f"WRONG: {sentence}{WRONG}"


def measured_peaks(measured: Measurements) -> Iterator[Finding]:
    """The peak that MFU is a fraction of."""
    peaks = {row.peak for row in measured.rows if row.peak is not None}
    for peak in sorted(peaks, key=lambda peak: (peak.precision, peak.benchmark)):
        sentence = (
            f"MFU in {peak.precision} is relative to the {peak.tflop_s:.4g} TFLOP/s that "
            f"{peak.benchmark} measured"
        )
        yield Finding(Severity.NOTE, sentence, evidence={"tflop_s": peak.tflop_s})


FINDINGS: Mapping[str, Finder] = {
    "damaged_file": damaged_files,
    "different_presets": different_presets,
    "different_devices": different_devices,
    "left_out_by_milabench": left_out_by_milabench,
    "measured_peak": measured_peaks,
    "several_units": several_units,
    "several_node_counts": several_node_counts,
    "nothing_measured": nothing_measured,
    "no_steady_state": no_steady_state,
    "start_up_left_out": start_up_left_out,
    "memory_not_sampled": memory_not_sampled,
    "slow_device": slow_devices,
    "slow_rank": slow_ranks,
    "checked_gradients": checked_gradients,
}
