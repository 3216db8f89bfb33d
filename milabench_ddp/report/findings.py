"""What a reader of the numbers must know: what was left out, what is wrong, what stands out.

A new finding is a function ``Measurements -> Findings`` and a line in ``FINDINGS``, which
gives it its name, its severity and its advice.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..events import Status
from ..results.records import Payload, is_finite
from .model import Finding, Findings, Severity
from .process import Measurements
from .stragglers import slow_devices, slow_ranks

NOTE, WARNING = Severity.NOTE, Severity.WARNING


@dataclass(frozen=True)
class Finder:
    """What finds one kind of thing."""

    find: Callable[[Measurements], Findings]
    severity: Severity
    advice: str = ""  # what to do about it


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings: first those about runs and files, then benchmark by benchmark."""
    found: list[Finding] = []
    for name, finder in FINDINGS.items():
        for finding in finder.find(measured):
            named = replace(finding, name=name, severity=finder.severity, advice=finder.advice)
            found.append(named)
    return tuple(sorted(found, key=lambda finding: finding.benchmark))


def damaged_files(measured: Measurements) -> Findings:
    """Files that are damaged or incomplete."""
    for run in measured.runs:
        for defect in run.defects:
            evidence = {"line": defect.line, "count": defect.count}
            yield Finding(str(defect), place=str(defect.path), evidence=evidence)


def different_presets(measured: Measurements) -> Findings:
    """Runs of different presets are one number."""
    presets = {info.preset for info in measured.infos}
    yield from _pooled("runs with different preset are pooled", presets)


def different_devices(measured: Measurements) -> Findings:
    """Runs on different devices are one number."""
    devices = {info.devices for info in measured.infos}
    yield from _pooled("runs with different devices are pooled", devices)


def several_units(measured: Measurements) -> Findings:
    """Rates of one benchmark in several units."""
    for name, processes in measured.benchmarks.items():
        units = {process.record.units for process in processes}
        yield from _pooled(f"{name}: its rates have several units, and are pooled", units, name)


def several_node_counts(measured: Measurements) -> Findings:
    """Runs of one benchmark on different numbers of nodes."""
    for name, processes in measured.benchmarks.items():
        counts = {str(process.record.config.get("num_machines", 1)) for process in processes}
        sentence = f"{name}: runs on different numbers of nodes are pooled"
        yield from _pooled(sentence, counts, name)


def _pooled(sentence: str, values: set[str], benchmark: str = "") -> Findings:
    known = sorted(filter(None, values))
    if len(known) > 1:
        yield Finding(f"{sentence}: {', '.join(known)}", benchmark, evidence={"values": known})


def left_out_by_milabench(measured: Measurements) -> Findings:
    """Files that milabench's formulas do not count."""
    for record, reason in measured.left_out:
        sentence = f"{record.path}: left out, as milabench does: {reason}"
        yield Finding(sentence, place=str(record.path))


def nothing_measured(measured: Measurements) -> Findings:
    """Processes that ended ok, or still run, without a rate that counts."""
    for name, processes in measured.benchmarks.items():
        for process in processes:
            tag, status = process.record.tag, process.status
            is_expected = process.record.reports and status in (Status.OK, Status.RUNNING)
            if is_expected and process.series is None:
                what = "only warm-up" if process.warmup_marked else "no training rate"
                yet = " yet" if status is Status.RUNNING else ""
                yield Finding(f"{name}: {tag}: {what} was measured{yet}", name, tag)


def no_steady_state(measured: Measurements) -> Findings:
    """Rates that still rise or fall at the end."""
    for name, processes in measured.benchmarks.items():
        unsteady = [process for process in processes if process.steady.problem]
        if unsteady:
            tag, count = unsteady[0].record.tag, len(processes)
            of = f" (in {len(unsteady)} of {count} processes)" if count > 1 else ""
            sentence = f"{name}: {tag}: {unsteady[0].steady.problem}{of}"
            yield Finding(sentence, name, tag, {"unsteady": len(unsteady), "processes": count})


def start_up_left_out(measured: Measurements) -> Findings:
    """Observations before the steady state, which are in no number."""
    for name, processes in measured.benchmarks.items():
        left_out = sum(process.steady.start for process in processes)
        total = sum(len(process.measured) for process in processes)
        if left_out:
            of = f" of {len(processes)} processes" if len(processes) > 1 else ""
            share = f"{left_out} of {total} observations{of}"
            sentence = f"{name}: {share} left out: before steady state"
            yield Finding(sentence, name, evidence={"left_out": left_out, "observations": total})


def memory_not_sampled(measured: Measurements) -> Findings:
    """The peak of memory is what the program says."""
    for row in measured.rows:
        processes = measured.benchmarks.get(row.name, ())
        if row.reserved >= 0 and not any(process.record.samples for process in processes):
            sentence = "peak_memory is what the program reserved; the device was not sampled"
            yield Finding(f"{row.name}: {sentence}", row.name)


def checked_gradients(measured: Measurements) -> Findings:
    """What ``--check-correctness`` came to, each verdict once."""
    for name, processes in measured.benchmarks.items():
        checks = [process.record.reported("correctness") for process in processes]
        for sentence, count in Counter(map(_check, filter(None, checks))).items():
            times = f" ({count} processes)" if count > 1 else ""
            yield Finding(f"{name}: {sentence}{times}", name, evidence={"count": count})


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
    return f"WRONG: {sentence}: it does not train as it should, and its speed means nothing"


def measured_peaks(measured: Measurements) -> Findings:
    """The peak that MFU is a fraction of."""
    peaks = {row.peak for row in measured.rows if row.peak is not None}
    for peak in sorted(peaks, key=lambda peak: (peak.precision, peak.benchmark)):
        speed = f"{peak.tflop_s:.4g} TFLOP/s"
        sentence = (
            f"MFU in {peak.precision} is relative to the {speed} that {peak.benchmark} measured"
        )
        yield Finding(sentence, evidence={"tflop_s": peak.tflop_s})


FINDINGS: Mapping[str, Finder] = {
    "damaged_file": Finder(damaged_files, WARNING),
    "different_presets": Finder(different_presets, WARNING, "report on each run alone"),
    "different_devices": Finder(different_devices, WARNING, "report on each run alone"),
    "left_out_by_milabench": Finder(left_out_by_milabench, WARNING, "read it without --compat"),
    "measured_peak": Finder(measured_peaks, NOTE),
    "several_units": Finder(several_units, WARNING, "report on each run alone"),
    "several_node_counts": Finder(several_node_counts, WARNING, "report on each run alone"),
    "nothing_measured": Finder(nothing_measured, WARNING, "let it run for longer"),
    "no_steady_state": Finder(no_steady_state, WARNING, "let it warm up for longer"),
    "start_up_left_out": Finder(start_up_left_out, NOTE),
    "memory_not_sampled": Finder(memory_not_sampled, NOTE),
    "slow_device": Finder(slow_devices, NOTE, "look at its clocks, heat and neighbours"),
    "slow_rank": Finder(slow_ranks, NOTE, "look at what it does in that part of a step"),
    "checked_gradients": Finder(checked_gradients, NOTE),
}
