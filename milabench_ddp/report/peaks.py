"""The measured peak of matrix products, and what of it training reaches: model FLOPs utilisation.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). A data
sheet's peak is no peak that any program reaches; this one was reached by a matrix product on the
same devices. Where several products of a precision were measured, the fastest is the peak.
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..results.records import Record, is_finite
from .measure import Process
from .model import Peak

UNIT = "TFLOP/s"
OPTIONS = ("--dtype", "--precision")
DEFAULT = "fp32"  # of every program
AUTOCAST = {"amp": "bf16", "amp-fp16": "fp16"}  # the products run in this

Peaks = Mapping[tuple[Path, str], Peak]


def peaks(named: Mapping[str, Sequence[Process]]) -> Peaks:
    """The peak of each run and precision."""
    found: dict[tuple[Path, str], Peak] = {}
    for name in sorted(named):
        rates: dict[tuple[Path, str], list[float]] = {}
        for process in named[name]:
            if process.record.units == UNIT and process.series is not None:
                key = process.run.path, precision(process.record)
                rates.setdefault(key, []).append(process.series.mean)
        for key, values in rates.items():
            peak = Peak(name, key[1], statistics.fmean(values))
            if key not in found or peak.tflop_s > found[key].tflop_s:
                found[key] = peak
    return found


def utilisation(processes: Sequence[Process], known: Peaks) -> tuple[float, Peak] | None:
    """MFU of a training benchmark, the mean over its processes, and the peak that was taken."""
    parts: list[float] = []
    peak: Peak | None = None
    for process in processes:
        reached = process.record.facts.get("model", {}).get("tflops_per_gpu")
        of = known.get((process.run.path, precision(process.record)))
        if of is not None and of.tflop_s > 0 and is_finite(reached):
            parts.append(reached / of.tflop_s)
            peak = of
    return (statistics.fmean(parts), peak) if peak is not None else None


def precision(record: Record) -> str:
    """In what the products of a program run: as its options say, else the programs' default."""
    asked = next(filter(None, (_option(record.config.get("argv"), o) for o in OPTIONS)), DEFAULT)
    return AUTOCAST.get(asked, asked)


def _option(argv: Any, option: str) -> str:
    if isinstance(argv, dict):
        return str(argv.get(option) or "")
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    return words[words.index(option) + 1] if option in words[:-1] else ""
