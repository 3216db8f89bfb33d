"""Model FLOPs utilisation (MFU): the share of the measured peak that training reaches.

    MFU = model FLOPs per second of a device / peak of the same precision, measured in the same runs

Model FLOPs are those of the model, without recomputation, by the formula of each program (A.
Chowdhery and others, "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B). The peak
is not that of a data sheet, which no program reaches: matrix products on the same devices reached
it. If several benchmarks measured products of a precision, the fastest is the peak. No program
exceeds it: where one seems to, there is no MFU.

The error of an MFU is made of the half widths of both 95 % intervals, as fractions, as independent
errors. The peak's is that of the benchmark that is the fastest, as if no other could have been.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any

from msgspec import Struct

from ..codec import about
from ..config.published import data_sheets, sheet_of
from ..grouping import grouped
from ..results.records import Record
from .process import Processes, series_by_launch, until
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
    peak: Peak | None = None  # that it is relative to, or the one that is exceeded
    impossible: float = NAN  # TFLOP/s that no device can reach: then there is no MFU
    mixed: tuple[str, ...] = ()  # several precisions, of which one has a peak: there is no MFU
    with_recomputation: float = NAN  # the MFU with the FLOPs of recomputation, as claimed

    @property
    def hfu(self) -> float:
        return self.with_recomputation if self.with_recomputation <= 1 else NAN

    @property
    def peak_error(self) -> float:
        """Half of the 95 % interval of the peak, as a fraction of it."""
        return self.peak.error / self.peak.tflop_s if self.peak else NAN


UNKNOWN = Utilisation()
Peaks = Mapping[str, Peak]  # by precision


def peaks(benchmarks: Mapping[str, Processes]) -> Peaks:
    """The peak of each precision, of processes that did not fail."""
    found: dict[str, Peak] = {}
    for name, every in sorted(benchmarks.items()):
        products = [each for each in every if each.record.units == UNIT and not each.failed]
        by_type = grouped((precision(each.record), each) for each in products)
        for kind, processes in by_type.items():
            series = series_by_launch(processes)
            if not kind or not series or why_no_mean(series):
                continue
            rate = pooled_mean(series)
            if rate > (found[kind].tflop_s if kind in found else 0.0):
                sure = interval(series, until(processes))
                error = max(sure.high - rate, rate - sure.low) if sure else NAN
                found[kind] = Peak(name, kind, rate, error)
    return found


def utilisation(processes: Processes, known: Peaks) -> Utilisation:
    """The MFU of a benchmark: the mean over the devices that tell their TFLOP/s.

    It is not known if they compute in several precisions.
    """
    told = told_by(processes, TFLOPS)
    kinds = {precision(each.record) for each in processes if told_by([each], TFLOPS)}
    if len(kinds) > 1 and not kinds.isdisjoint(known):
        return Utilisation(mixed=tuple(sorted(kinds)))
    peak = known.get(kinds.pop()) if len(kinds) == 1 else None
    if told is None or peak is None:
        return UNKNOWN
    impossible = [speed for speed in told.values if not 0 < speed <= peak.tflop_s]
    if impossible:
        return Utilisation(peak=peak, impossible=max(impossible))
    mfu = mean(speed / peak.tflop_s for speed in told.values)
    ratio = told_by(processes, HARDWARE_RATIO)
    return Utilisation(mfu, peak, with_recomputation=mfu * ratio.mean if ratio else NAN)


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
    # a program tells what it used, which may be a part of a device
    names = [told.get("name") for told in record.devices.values()]
    names += [gpu.get("product") for gpu in record.gpus.values()]
    product = next((str(name) for name in names if name), "")
    return sheet_of(product), product


def precision(record: Record) -> str:
    """The precision of a program's matrix products: as told, else by its options, else empty."""
    told = record.compute_dtype or _asked(record.config.get("argv"))
    return NAMES.get(told, told)


def _asked(argv: object) -> str:
    """The first option that is given; of its values the last, as argparse takes it."""
    stated: Iterable[tuple[object, object]] = ()
    if isinstance(argv, list):
        stated = pairwise([*argv, ""])
    elif isinstance(argv, dict):
        stated = argv.items()
    given = {}
    for word, following in stated:
        name, sign, value = str(word).partition("=")
        given[name] = value if sign else str(following or "")
    for option in OPTIONS:
        value = given.get(option, "")
        if value and not (option == "--mixed-precision" and value in NOT_LOWERED):
            return value
    return ""
