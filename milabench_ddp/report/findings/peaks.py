"""Findings about the peak that MFU is a fraction of, and about programs that claim more."""

import math
from collections import Counter

from ...table import Measured
from ..finding import Finding, Findings
from ..mfu import HARDWARE_RATIO, Peak
from ..model import Row
from ..process import counted
from ..told import TFLOPS, told_by
from .finder import Measurements, in_some_of

SPEEDS = (TFLOPS, HARDWARE_RATIO, "step_ms")


def measured_peaks(measured: Measurements) -> Findings:
    """The peak that MFU is a fraction of."""
    peaks: set[Peak] = set()
    for row in measured.rows:
        peaks |= set(row.used.peaks)
    for peak in sorted(peaks, key=lambda peak: (peak.precision, peak.benchmark)):
        speed = f"{Measured(peak.tflop_s, peak.error, with_error=True).text('.4g')} TFLOP/s"
        sentence = (
            f"MFU in {peak.precision} is relative to the {speed} that {peak.benchmark} measured"
        )
        yield Finding(sentence, evidence={"tflop_s": peak.tflop_s})


def above_peak(row: Row) -> Findings:
    """A program that claims more than the measured peak, or not even a positive number."""
    reached, peak = row.used.impossible, row.used.peak
    if peak is None or math.isnan(reached):
        return
    claimed, measured = (f"{value:.4g}" for value in (reached, peak.tflop_s))
    if claimed == measured:
        claimed, measured = (f"{value:.8g}" for value in (reached, peak.tflop_s))
    sentence = f"no MFU: it claims {claimed} TFLOP/s on a device"
    if reached > 0:
        sentence += (
            f", and {peak.benchmark} reached only {measured} TFLOP/s in {peak.precision}: one of "
            f"the two is wrong"
        )
    yield Finding(sentence, evidence={TFLOPS: reached, "tflop_s": peak.tflop_s})


def hardware_above_peak(row: Row) -> Findings:
    """A program that claims more than the measured peak with its recomputation."""
    reached, peak = row.used.with_recomputation, row.used.peak
    if peak is None or not reached > 1:
        return
    sentence = (
        f"no HFU: with its recomputation it claims {reached:.1%} of the {peak.tflop_s:.4g} TFLOP/s "
        f"that {peak.benchmark} reached in {peak.precision}: one of the two is wrong"
    )
    yield Finding(sentence, evidence={"hfu": reached, "tflop_s": peak.tflop_s})


def told_by_a_part(row: Row) -> Findings:
    """TFLOP/s, or the type that the MFU needs, of a part of the processes alone."""
    measured = [process for process in counted(row.processes) if process.series is not None]
    telling = [process for process in measured if told_by([process], TFLOPS) is not None]
    if 0 < len(telling) < len(measured):
        sentence = f"only {len(telling)} of {len(measured)} processes tell their TFLOP/s"
        yield Finding(sentence, evidence={"telling": len(telling), "processes": len(measured)})
    if row.used.without_peak:
        count = f"{row.used.without_peak} of {len(telling)} processes"
        sentence = f"no MFU: no peak is known for the precision of {count}"
        yield Finding(sentence, evidence={"without_peak": row.used.without_peak})


def speeds_not_finite(row: Row) -> Findings:
    """TFLOP/s and step times that are infinite or NaN, and are left out."""
    processes = counted(row.processes)
    for name in SPEEDS:
        values: Counter[str] = Counter()
        telling = []
        for process in processes:
            told = process.record.not_finite.get(name)
            if told:
                values += told
                telling.append(process.record.tag)
        if values:
            first, where = next(iter(values)), in_some_of(len(telling), len(processes))
            sentence = f"{telling[0]}: its {name} is {first}: left out{where}"
            yield Finding(sentence, place=telling[0], evidence={"values": dict(values)})
