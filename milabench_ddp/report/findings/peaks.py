"""Findings about the FLOP/s that programs claim, and the peak that they are a fraction of."""

import math

from ...table import Measured
from ..mfu import HARDWARE_RATIO
from ..model import Row
from ..told import TFLOPS, told_by
from .finder import Finds, Found, Measurements, finding, in_some_of


# One of two speeds is wrong, and nothing here tells which.
@finding(
    "error",
    "no MFU: it claims {claimed:.6g} TFLOP/s on a device[, and {peak} reached only {tflop_s:.6g} "
    "TFLOP/s in {precision}: one of the two is wrong]",
    "check the FLOP of its model, and its precision",
)
def above_peak(row: Row) -> Finds:
    """A program that claims more than the measured peak, or not even a positive number."""
    reached, peak = row.used.impossible, row.used.peak
    if peak is None or math.isnan(reached):
        return
    yield Found(
        "",
        {TFLOPS: reached, "tflop_s": peak.tflop_s},
        words={
            "claimed": reached,
            "precision": peak.precision,
            "peak": peak.benchmark if reached > 0 else "",
        },
    )


@finding(
    "error",
    "no HFU: with its recomputation it claims {hfu:.1%} of the {tflop_s:.4g} TFLOP/s "
    "that {peak.benchmark} reached in {peak.precision}: one of the two is wrong",
    "check its ratio of hardware FLOP to those of the model",
)
def hardware_above_peak(row: Row) -> Finds:
    """A program that claims more than the measured peak with its recomputation."""
    reached, peak = row.used.with_recomputation, row.used.peak
    if peak is not None and reached > 1:
        yield Found("", {"hfu": reached, "tflop_s": peak.tflop_s}, {"peak": peak})


@finding(
    "warning", "{place}: its {name} is {value}: left out{where}", "let it tell a finite number"
)
def speed_not_finite(row: Row) -> Finds:
    """TFLOP/s and step times that are infinite or NaN, and are left out."""
    for name in (TFLOPS, HARDWARE_RATIO, "step_ms"):
        records = [process.record for process in row.counted]
        found = [record for record in records if record.not_finite.get(name)]
        if found:
            values, where = found[0].not_finite[name], in_some_of(found, records)
            yield Found(
                found[0].tag,
                {"values": dict(values)},
                words={"name": name, "value": next(iter(values)), "where": where},
            )


@finding(
    "warning",
    "only {telling} of {processes} processes tell their TFLOP/s",
    "let each process tell the same",
)
def told_by_a_part(row: Row) -> Finds:
    """TFLOP/s of a part of the processes alone, or in several precisions: then there is no MFU."""
    measured = [process for process in row.counted if process.series is not None]
    telling = [process for process in measured if told_by([process], TFLOPS) is not None]
    if 0 < len(telling) < len(measured):
        yield Found("", {"telling": len(telling), "processes": len(measured)})
    if mixed := row.used.mixed:
        sentence = "no MFU: its processes compute in several precisions: {all}"
        yield Found(
            "",
            {"precisions": mixed},
            words={"all": ", ".join(kind or "unknown" for kind in mixed)},
            sentence=sentence,
        )


@finding(
    "note",
    "MFU in {peak.precision} is relative to the {speed} TFLOP/s that {peak.benchmark} measured",
)
def measured_peak(measured: Measurements) -> Finds:
    used = [row.used for row in measured.rows]
    peaks = {each.peak for each in used if each.peak is not None and not math.isnan(each.mfu)}
    for peak in sorted(peaks, key=lambda peak: (peak.precision, peak.benchmark)):
        speed = Measured(peak.tflop_s, peak.error, with_error=True).text(".4g")
        yield Found("", {"tflop_s": peak.tflop_s}, {"peak": peak, "speed": speed})


@finding(
    "warning",
    "widths are not multiples of 8, so kernels pad them or are slower: {widths}",
    "choose a model, or a number of ranks, whose shards are multiples of 8",
)
def misaligned_widths(row: Row) -> Finds:
    """Widths of heads and shards that the kernels of matrix products and attention do not like."""
    if odd := row.reported("model").get("misaligned"):
        yield Found("", {"widths": odd})
