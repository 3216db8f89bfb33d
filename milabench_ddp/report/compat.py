"""milabench's own statistics, to the last digit: section 4 of its formats, oddities included.

All files of a benchmark are pooled, warm-up and failed ones too. A file without exactly one
``start`` and one ``end`` does not count at all: not as a process, and not as a failure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results.records import DefectKind, Record, Run, is_finite
from .model import NAN, Row

UNFIT = (
    DefectKind.NOT_OBJECT,
    DefectKind.NO_EVENT,
    DefectKind.BAD_EVENT,
    DefectKind.TWO_STARTS,
    DefectKind.TWO_ENDS,
    DefectKind.NO_START,
)
QUARTILES = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


@dataclass(frozen=True)
class Fit:
    """The files that milabench counts, and why it leaves the others out."""

    records: tuple[Record, ...]
    left_out: tuple[tuple[Record, str], ...]


def fit(runs: Sequence[Run]) -> Fit:
    """Split the files into those that milabench counts and those that it drops."""
    records, left_out = [], []
    for run in runs:
        for record in run.records:
            if why := _unfit(record):
                left_out.append((record, why))
            else:
                records.append(record)
    return Fit(tuple(records), tuple(left_out))


def _unfit(record: Record) -> str:
    start, end = record.start, record.end
    if not start or not end:
        return "it has no " + ("`start`" if not start else "`end`")
    if record.has(*UNFIT):
        return next(str(d.kind) for d in record.defects if d.kind in UNFIT)
    if not (_is_number(start.get("time")) and _is_number(end.get("time"))):
        return "its `start` or its `end` has no time"
    if not record.stopped and "return_code" not in end:
        return "its `end` has no return code"
    if not all(_is_number(loss) for loss in record.losses):
        return "a loss is no number"
    if isinstance(record.config.get("device"), list | dict):
        return "its device is no index"
    return ""


def succeeded(record: Record) -> bool:
    """Whether milabench counts a file with an end as a success."""
    if record.stopped or "nolog" in _words(record.config.get("tag")):
        return True
    code = record.end.get("return_code") if record.end else None
    lost = any(isinstance(loss, float) and math.isnan(loss) for loss in record.losses)
    return code == 0 and not lost and bool(record.rates)


def ngpu(config: Mapping[str, Any]) -> int:
    """Devices of a launch: those of each machine for njobs, one for per_gpu, times the machines."""
    plan, devices = config.get("plan"), config.get("devices")
    machines = config.get("num_machines", 1)
    is_njobs = isinstance(plan, dict) and plan.get("method") == "njobs"
    local = len(devices) if isinstance(devices, list) else 0
    count = int(machines) if is_finite(machines) else 1
    return count * (local if is_njobs else 1)


def metrics(values: Iterable[Any]) -> dict[str, float]:
    """milabench's statistics of a list: one minimum and one maximum of 5 or more are dropped."""
    known = [value for value in values if value is not None]
    if not known or not all(map(_is_number, known)):
        return dict.fromkeys((*QUARTILES, "mean", "std", "sem"), NAN)
    xs = sorted(known)
    if len(xs) >= 5:
        xs = xs[1:-1]
    mean = _sum(xs) / len(xs)
    std = math.sqrt(_sum([(x - mean) * (x - mean) for x in xs]) / len(xs))
    stats = {name: _percentile(xs, share) for name, share in QUARTILES.items()}
    return {**stats, "mean": mean, "std": std, "sem": std / math.sqrt(len(xs))}


def _sum(xs: Sequence[float]) -> float:
    try:
        return math.fsum(xs)
    except (OverflowError, ValueError):  # too large, or infinities of both signs
        return sum(xs)


def _percentile(xs: Sequence[float], share: float) -> float:
    """NumPy's default: linear between the two nearest."""
    if any(map(math.isnan, xs)):
        return NAN
    place = share * (len(xs) - 1)
    below = math.floor(place)
    if place == below:
        return float(xs[below])
    return xs[below] + (xs[below + 1] - xs[below]) * (place - below)


def used(samples: Iterable[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """The samples of a device that was in use."""
    return [sample for sample in samples if sample[0] != 1 and sample[1] != 0]


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """milabench's summary of the files of a benchmark."""
    per_gpu: dict[Any, list[Any]] = {}
    devices: dict[str, list[tuple[float, float, float]]] = {}
    for record in records:
        device = record.config.get("device")
        if device is not None:
            for observation in record.rates:
                per_gpu.setdefault(device, []).append(observation.rate)
        for key, samples in record.samples.items():
            if device is None or key == str(device):
                devices.setdefault(key, []).extend(used(samples))
    successes = sum(succeeded(record) for record in records)
    return {
        "n": len(records),
        "ngpu": max(ngpu(record.config) for record in records),
        "successes": successes,
        "failures": len(records) - successes,
        "train_rate": metrics(o.rate for record in records for o in record.rates),
        "walltime": metrics(r.end["time"] - r.start["time"] for r in records if r.end and r.start),
        "per_gpu": {device: metrics(rates) for device, rates in per_gpu.items()},
        "gpu_load": {
            key: {
                what: metrics(sample[place] for sample in samples)
                for place, what in enumerate(("memory", "load", "power"))
            }
            for key, samples in devices.items()
            if samples
        },
    }


def row(records: Sequence[Record], weight: float | None) -> Row:
    """milabench's row of a benchmark; ``weight`` is that of the configuration that was given."""
    summary, config = summarize(records), records[-1].config
    rate, n = summary["train_rate"], summary["n"]
    perf = rate["mean"]
    whole = sum(stats["mean"] for stats in summary["per_gpu"].values())
    peaks = [stats["memory"]["max"] for stats in summary["gpu_load"].values()]
    return Row(
        name=records[-1].name,
        fail=summary["failures"],
        n=n,
        ngpu=summary["ngpu"],
        perf=perf,
        sem=ratio(rate["sem"], perf),
        std=ratio(rate["std"], perf),
        peak_memory=max(peaks, default=NAN),
        score=(whole if whole > 0 else perf) * (1 - summary["failures"] / max(n, 1)),
        weight=recorded_weight(config) if weight is None else weight,
        enabled=weight is not None or bool(config.get("enabled", True)),
        unit=next((record.units for record in records if record.units), ""),
        details={"summary": summary},
    )


def missing(name: str, weight: float) -> Row:
    """The row of a benchmark of the given configuration of which there is no file."""
    return Row(name, NAN, NAN, 0, NAN, NAN, NAN, NAN, NAN, weight)


def recorded_weight(config: Mapping[str, Any]) -> float:
    """The weight that a file was written with, 0 where it has none."""
    weight = config.get("weight", 0)
    return float(weight) if _is_number(weight) else 0.0


def ratio(part: float, whole: float) -> float:
    """``part / whole``, with NaN or infinity for a whole of 0, as NumPy has it."""
    if whole:
        return part / whole
    return NAN if not part or math.isnan(part) else math.copysign(math.inf, part)


def _words(tag: object) -> list[object]:
    return tag if isinstance(tag, list) else []


def _is_number(value: object) -> bool:
    # an int that is none for a float, with 400 digits say, is none here either
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1000)
