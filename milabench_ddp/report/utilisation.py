"""What share of the measured peak a benchmark reaches; the ``mfu`` module calculates it."""

from dataclasses import dataclass

from .statistics import NAN


@dataclass(frozen=True)
class Peak:
    """The fastest matrix products of a precision that a run measured."""

    benchmark: str
    precision: str
    tflop_s: float  # of one device


@dataclass(frozen=True)
class Utilisation:
    """The MFU of a benchmark, which is NaN if it is not known."""

    mfu: float = NAN
    peak: Peak | None = None  # TFLOP/s over MFU; or the one that is exceeded
    peaks: tuple[Peak, ...] = ()  # those that it is relative to
    impossible: float = NAN  # TFLOP/s that no device can reach: then there is no MFU
    without_peak: int = 0  # processes, beside others that have one: then there is none, too


UNKNOWN = Utilisation()
