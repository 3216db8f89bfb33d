"""Model FLOPs utilisation (MFU): the share of the measured peak that training reaches.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). The peak
is not that of a data sheet, which no program reaches: matrix products on the same devices reached
it. If several benchmarks measured products of a precision, the fastest is the peak. No program
exceeds it: where one seems to, there is no MFU.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..results.records import Record
from .model import Finding, Findings, Peak, Row
from .process import Processes, counted
from .statistics import NAN, mean
from .told import TFLOPS, told_by

UNIT = "TFLOP/s"
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


@dataclass(frozen=True)
class Utilisation:
    """The MFU of a benchmark, which is NaN if it is not known."""

    mfu: float = NAN
    peak: Peak | None = None
    impossible: float = NAN  # the most TFLOP/s that exceed the peak; then there is no MFU


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each run and precision; ``benchmarks`` has the processes by benchmark name."""
    found: dict[RunPrecision, Peak] = {}
    for name in sorted(benchmarks):
        rates: dict[RunPrecision, list[float]] = defaultdict(list)
        for process in counted(benchmarks[name]):
            key = process.run.path, precision(process.record)
            if process.record.units == UNIT and process.series is not None and key[1]:
                rates[key].append(process.series.mean)
        for key, values in rates.items():
            peak = Peak(name, key[1], mean(values))
            if key not in found or peak.tflop_s > found[key].tflop_s:
                found[key] = peak
    return found


def utilisation(processes: Processes, known: Peaks) -> Utilisation:
    """The MFU of a benchmark: its mean TFLOP/s of a device over its peak.

    If the processes are of runs with different peaks, the peak is their harmonic mean. So the MFU
    of processes that are equally fast is the mean of theirs.
    """
    speeds: list[float] = []
    used: list[Peak] = []
    impossible: list[float] = []
    for process in processes:
        told = told_by(process, TFLOPS)
        peak = known.get((process.run.path, precision(process.record)))
        if told is None or peak is None or not peak.tflop_s > 0:
            continue
        speeds += told.values
        used += [peak] * len(told.values)
        impossible += [speed for speed in told.values if speed > peak.tflop_s]
    if not speeds:
        return Utilisation()
    peak = used[-1]
    if len(set(used)) > 1:
        peak = replace(peak, tflop_s=statistics.harmonic_mean([one.tflop_s for one in used]))
    if impossible:
        return Utilisation(NAN, peak, max(impossible))
    return Utilisation(mean(speeds) / peak.tflop_s, peak)


def above_peak(row: Row) -> Findings:
    """A program that claims more than the measured peak."""
    reached, peak = row.above_peak, row.peak
    if peak is None or not reached > peak.tflop_s:
        return
    sentence = (
        f"no MFU: it claims {reached:.4g} TFLOP/s on a device, and {peak.benchmark} reached only "
        f"{peak.tflop_s:.4g} TFLOP/s in {peak.precision}: one of the two is wrong"
    )
    yield Finding(sentence, evidence={TFLOPS: reached, "tflop_s": peak.tflop_s})


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
