"""Model FLOPs utilisation (MFU): the share of the measured peak that training reaches.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). The peak
is not that of a data sheet, which no program reaches: matrix products on the same devices reached
it. If several benchmarks measured products of a precision, the fastest is the peak. No program
exceeds it: where one seems to, there is no MFU.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..results.records import Record
from .model import Finding, Findings, Row
from .process import Processes, counted
from .statistics import NAN, mean
from .told import TFLOPS, told_by
from .utilisation import UNKNOWN, Peak, Utilisation

UNIT = "TFLOP/s"
HARDWARE_RATIO = "hardware_flops_ratio"  # FLOPs with recomputation over those of the model
# Of programs that do not tell their precision. FSDP's lowers that of the parameters.
OPTIONS = ("--mixed-precision", "--precision", "--dtype")
NOT_LOWERED = ("", "none", "fp32")
NAMES = {  # the precision of matrix products, by its other names
    "amp": "bf16",
    "amp-fp16": "fp16",
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
}

RunPrecision = tuple[Path, str]
Peaks = Mapping[RunPrecision, Peak]


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each run and precision, of processes that did not fail.

    Args:
        benchmarks: the processes of each benchmark, by its name.
    """
    found: dict[RunPrecision, Peak] = {}
    for name in sorted(benchmarks):
        rates: dict[RunPrecision, list[float]] = defaultdict(list)
        for process in benchmarks[name]:
            if process.failed:
                continue
            key = process.run.path, precision(process.record)
            if process.record.units == UNIT and process.series is not None and key[1]:
                rates[key].append(process.series.mean)
        for key, values in rates.items():
            peak = Peak(name, key[1], mean(values))
            if key not in found or peak.tflop_s > found[key].tflop_s:
                found[key] = peak
    return found


def utilisation(processes: Processes, known: Peaks) -> Utilisation:
    """The MFU of a benchmark: the mean over the devices that tell their TFLOP/s.

    If the processes have different peaks, their peak is the mean TFLOP/s over the MFU. Of devices
    that are equally fast it is the harmonic mean.
    """
    shares: list[float] = []
    speeds: list[float] = []
    used: list[Peak] = []
    impossible: list[tuple[float, float, Peak]] = []
    without_peak = 0
    for process in processes:
        told = told_by(process, TFLOPS)
        if told is None:
            continue
        peak = known.get((process.run.path, precision(process.record)))
        if peak is None or not peak.tflop_s > 0:
            without_peak += 1
            continue
        used.append(peak)
        for speed in told.values:
            share = speed / peak.tflop_s
            speeds.append(speed)
            shares.append(share)
            if not 0 < share <= 1:
                impossible.append((share, speed, peak))
    if not used:
        return UNKNOWN
    if impossible:
        _, speed, peak = max(impossible, key=lambda found: found[0])
        return Utilisation(NAN, peak, impossible=speed)
    if without_peak:
        return Utilisation(without_peak=without_peak)
    several = tuple(dict.fromkeys(used))
    mfu, peak = mean(shares), several[0]
    if len(several) > 1:
        names = " and ".join(dict.fromkeys(peak.benchmark for peak in several))
        types = " and ".join(dict.fromkeys(peak.precision for peak in several))
        peak = Peak(names, types, mean(speeds) / mfu)
    return Utilisation(mfu, peak, several)


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


def hardware_utilisation(row: Row) -> float:
    """The HFU: the MFU with the FLOPs of recomputation; NaN if it is not known, or impossible."""
    reached = _claimed_with_recomputation(row)
    return reached if reached <= 1 else NAN


def _claimed_with_recomputation(row: Row) -> float:
    ratio = row.told.get(HARDWARE_RATIO)
    return NAN if ratio is None else row.used.mfu * ratio.mean


def hardware_above_peak(row: Row) -> Findings:
    """A program that claims more than the measured peak with its recomputation."""
    reached, peak = _claimed_with_recomputation(row), row.used.peak
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
    telling = [process for process in measured if told_by(process, TFLOPS) is not None]
    if 0 < len(telling) < len(measured):
        sentence = f"only {len(telling)} of {len(measured)} processes tell their TFLOP/s"
        yield Finding(sentence, evidence={"telling": len(telling), "processes": len(measured)})
    if row.used.without_peak:
        count = f"{row.used.without_peak} of {len(telling)} processes"
        sentence = f"no MFU: no peak is known for the precision of {count}"
        yield Finding(sentence, evidence={"without_peak": row.used.without_peak})


def precision(record: Record) -> str:
    """The precision of a program's matrix products: as told, else by its options, else empty."""
    told = record.compute_dtype or _asked(record.config.get("argv"))
    return NAMES.get(told, told)


def _asked(argv: object) -> str:
    words = _words(argv)
    for option in OPTIONS:
        value = _value(words, option)
        if option == "--mixed-precision" and value in NOT_LOWERED:
            continue
        if value:
            return value
    return ""


def _value(words: Sequence[str], option: str) -> str:
    """The value of an option; of several the last, as argparse takes it; empty without any."""
    found = ""
    for index, word in enumerate(words):
        name, sign, value = word.partition("=")
        if name == option:
            found = value if sign else "".join(words[index + 1 : index + 2])
    return found


def _words(argv: object) -> Sequence[str]:
    """The arguments of a program as it is started, from a list or from a mapping of options."""
    if isinstance(argv, list):
        return list(map(str, argv))
    words: list[str] = []
    if isinstance(argv, dict):
        for option, value in argv.items():
            words += [str(option)] if value is None else [str(option), str(value)]
    return words
