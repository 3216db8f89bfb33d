"""Model FLOPs utilisation (MFU): the share of the measured peak that training reaches.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). The peak
is not that of a data sheet, which no program reaches: matrix products on the same devices reached
it. If several benchmarks measured products of a precision, the fastest is the peak.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from ..results.records import Record, is_finite
from .model import Peak
from .process import Processes
from .statistics import mean

UNIT = "TFLOP/s"
OPTIONS = ("--dtype", "--precision")
DEFAULT = "fp32"  # the precision of every program without such an option
AUTOCAST = {"amp": "bf16", "amp-fp16": "fp16"}  # the precision in which matrix products run

RunPrecision = tuple[Path, str]
Peaks = Mapping[RunPrecision, Peak]


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each run and precision; ``benchmarks`` has the processes by benchmark name."""
    found: dict[RunPrecision, Peak] = {}
    for name in sorted(benchmarks):
        rates: dict[RunPrecision, list[float]] = defaultdict(list)
        for process in benchmarks[name]:
            if process.record.units == UNIT and process.series is not None:
                key = process.run.path, precision(process.record)
                rates[key].append(process.series.mean)
        for key, values in rates.items():
            peak = Peak(name, key[1], mean(values))
            if key not in found or peak.tflop_s > found[key].tflop_s:
                found[key] = peak
    return found


def utilisation(processes: Processes, known: Peaks) -> tuple[float, Peak | None]:
    """The MFU of a benchmark, as the mean over its processes (NaN if unknown), and its peak."""
    fractions: list[float] = []
    used = None
    for process in processes:
        reached = process.record.reported("model").get("tflops_per_gpu")
        peak = known.get((process.run.path, precision(process.record)))
        if peak is not None and peak.tflop_s > 0 and is_finite(reached):
            fractions.append(reached / peak.tflop_s)
            used = peak
    return mean(fractions), used


def precision(record: Record) -> str:
    """The precision of a program's matrix products, by its options, else the default."""
    argv = record.config.get("argv")
    for option in OPTIONS:
        if asked := _option(argv, option):
            return AUTOCAST.get(asked, asked)
    return DEFAULT


def _option(argv: object, option: str) -> str:
    if isinstance(argv, dict):
        return str(argv.get(option) or "")
    words = list(map(str, argv)) if isinstance(argv, list) else []
    for word, following in pairwise(words):
        if word == option:
            return following
    return ""
