"""Model FLOPs utilisation (MFU): the share of the measured peak that training reaches.

    MFU = model FLOPs per second of a device / measured peak of the same precision in the same run

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). The peak
is not that of a data sheet, which no program reaches: matrix products on the same devices reached
it. If several benchmarks measured products of a precision, the fastest is the peak. No program
exceeds it: where one seems to, there is no MFU.

The error of an MFU is made of the half widths of both 95 % intervals, as fractions, as independent
errors. The peak's is that of the benchmark that is the fastest, as if no other could have been.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from ..codec import about
from ..config.published import data_sheets, sheet_of
from ..results.records import Record, mapping_or_empty
from .process import Processes, ProcessResult, series_by_launch, until
from .statistics.interval import interval, pooled_mean, why_no_mean
from .statistics.values import NAN, mean
from .told import TFLOPS, told_by

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


class Peak(Struct, frozen=True):
    """The fastest matrix products of a precision that a run measured."""

    benchmark: Annotated[str, about("the one that measured it")]
    precision: Annotated[str, about("of the matrix products, such as bf16")]
    tflop_s: Annotated[float, about("the rate of one device", "TFLOP/s")]
    error: Annotated[float, about("half of its 95 % interval", "TFLOP/s")] = NAN


class Utilisation(Struct, frozen=True):
    """The MFU of a benchmark, which is NaN if it is not known."""

    mfu: float = NAN
    peak: Peak | None = None  # TFLOP/s over MFU; or the one that is exceeded
    peaks: tuple[Peak, ...] = ()  # those that it is relative to
    peaks_error: float = NAN  # that of these in the MFU, as a fraction of it
    impossible: float = NAN  # TFLOP/s that no device can reach: then there is no MFU
    without_peak: int = 0  # processes; if others have a peak, the MFU of all is not known
    with_recomputation: float = NAN  # the MFU with the FLOPs of recomputation, as claimed

    @property
    def hfu(self) -> float:
        return self.with_recomputation if self.with_recomputation <= 1 else NAN


UNKNOWN = Utilisation()
RunPrecision = tuple[Path, str]
Peaks = Mapping[RunPrecision, Peak]


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each run and precision, of processes that did not fail."""
    found: dict[RunPrecision, Peak] = {}
    for name in sorted(benchmarks):
        products: dict[RunPrecision, list[ProcessResult]] = defaultdict(list)
        for process in benchmarks[name]:
            if process.failed:
                continue
            key = process.run.path, precision(process.record)
            if process.record.units == UNIT and process.series is not None and key[1]:
                products[key].append(process)
        for key, processes in products.items():
            series = series_by_launch(processes)
            if why_no_mean(series):
                continue
            rate = pooled_mean(series)
            if key not in found or rate > found[key].tflop_s:
                sure = interval(series, until(processes))
                error = max(sure.high - rate, rate - sure.low) if sure else NAN
                found[key] = Peak(name, key[1], rate, error)
    return found


def utilisation(processes: Processes, known: Peaks) -> Utilisation:
    """The MFU of a benchmark: the mean over the devices that tell their TFLOP/s.

    If the processes have different peaks, their peak is the mean TFLOP/s over the MFU. Of devices
    that are equally fast it is the harmonic mean.
    """
    found: list[tuple[float, float, Peak]] = []  # the share, the TFLOP/s and the peak of each
    without_peak = 0
    for process in processes:
        told = told_by([process], TFLOPS)
        peak = known.get((process.run.path, precision(process.record)))
        if told is None:
            continue
        if peak is None or not peak.tflop_s > 0:
            without_peak += 1
            continue
        found += [(speed / peak.tflop_s, speed, peak) for speed in told.values]
    if not found:
        return UNKNOWN
    impossible = [each for each in found if not 0 < each[0] <= 1]
    if impossible:
        _, speed, peak = max(impossible, key=lambda each: each[0])
        return Utilisation(NAN, peak, impossible=speed)
    if without_peak:
        return Utilisation(without_peak=without_peak)
    mfu = mean(share for share, _, _ in found)
    several = tuple(dict.fromkeys(peak for _, _, peak in found))
    errors = []
    for peak in several:
        shares = math.fsum(share for share, _, of in found if of == peak)
        errors.append(shares * peak.error / peak.tflop_s)
    error = math.hypot(*errors) / (mfu * len(found))
    peak = several[0]
    if len(several) > 1:
        names = " and ".join(dict.fromkeys(peak.benchmark for peak in several))
        types = " and ".join(dict.fromkeys(peak.precision for peak in several))
        speed = mean(speed for _, speed, _ in found) / mfu
        peak = Peak(names, types, speed, error * speed)
    ratio = told_by(processes, HARDWARE_RATIO)
    with_recomputation = NAN if ratio is None else mfu * ratio.mean
    return Utilisation(mfu, peak, several, error, with_recomputation=with_recomputation)


def of_data_sheet(processes: Processes) -> float:
    """The mean share of the data sheet's peak over the devices that tell their TFLOP/s.

    NaN if a device has no such peak, or is above it: then its name, its FLOP or its type is wrong.
    """
    shares: list[float] = []
    for process in processes:
        told, (sheet, _) = told_by([process], TFLOPS), device_of(process.record)
        if told is not None:
            peaks: Mapping[Any, float] = data_sheets()[sheet].tflop_s if sheet else {}
            peak = peaks.get(precision(process.record), NAN)
            shares += [speed / peak for speed in told.values]
    return mean(shares) if all(0 < share <= 1 for share in shares) else NAN


def device_of(record: Record) -> tuple[str, str]:
    """The name of the data sheet of its devices, empty without one, and the name that they have."""
    gpus = mapping_or_empty(record.accelerators.get("gpus"))
    # a program tells what it used, which may be a part of a device
    names = [told.get("name") for told in record.devices.values()]
    names += [record.gpu(index).get("product") for index in gpus]
    product = next((str(name) for name in names if name), "")
    return sheet_of(product), product


def precision(record: Record) -> str:
    """The precision of a program's matrix products: as told, else by its options, else empty."""
    told = record.compute_dtype or _asked(record.config.get("argv"))
    return NAMES.get(told, told)


def _asked(argv: object) -> str:
    """The first option that is given; of its values the last, as argparse takes it."""
    words: list[str] = []
    if isinstance(argv, list):
        words = list(map(str, argv))
    elif isinstance(argv, dict):
        for option, value in argv.items():
            words += [str(option)] if value is None else [str(option), str(value)]
    given = {}
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, sign, value = word.partition("=")
        given[name] = value if sign else following
    for option in OPTIONS:
        value = given.get(option, "")
        if value and not (option == "--mixed-precision" and value in NOT_LOWERED):
            return value
    return ""
