"""The measured peak of matrix products, and what of it training reaches: model FLOPs utilisation.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). No program
reaches the peak of a data sheet; this one was reached by a matrix product on the same devices.
Where several products of a precision were measured, the fastest is the peak.
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
DEFAULT = "fp32"  # of every program
AUTOCAST = {"amp": "bf16", "amp-fp16": "fp16"}  # the products run in this

RunPrecision = tuple[Path, str]
Peaks = Mapping[RunPrecision, Peak]


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each run and precision."""
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
    """MFU of a training benchmark, the mean over its processes, and the peak that was taken."""
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
    """In what the products of a program run: as its options say, else the programs' default."""
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
