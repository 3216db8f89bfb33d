"""Findings about what programs wrote: rates that do not count, or that have no mean."""

from ...events import Status
from ..finding import Finding, Findings
from ..model import Row
from ..process import counted, units_of


def several_units(row: Row) -> Findings:
    known = units_of(counted(row.processes))
    if len(known) > 1:
        sentence = f"its rates have several units, so they have no mean: {', '.join(known)}"
        yield Finding(sentence, evidence={"values": known})


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
