"""The verdict on a strategy: its differences from one device, and how large they may be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.common.gradients import (
    Difference,
    Errors,
    Expected,
    RankResult,
    compare,
    worst_copies,
)

# The largest error that comes from adding the same numbers in another order, relative to the norm
# of all gradients. Measured: 2e-15 in fp64. In fp32 1e-6, but 3e-4 where a ReLU switches.
IN_FP64, IN_FP32 = 1e-10, 1e-3
# In coarser types also a multiple of the error that one device makes. Measured, over all modes and
# models: at most 2.2 times it. Rounding has no direction, so that the scale of all gradients
# together is known better: measured to at most 0.16 times the error.
MULTIPLE, SCALE_MULTIPLE = 3.0, 0.5
# The scale of one parameter's gradients, of which an error of 1 % must be seen. Measured over all
# modes and models, in 7,800 parts of parameters in bf16 and amp: if operations are those of one
# device, 2.5e-3 besides what adding in a coarse type is known to change. If not, what rounding adds
# up to along the gradient is a guess, to which come at most 2.9 times what it would if signs were
# random, and its square, by which an inexact gradient makes the other one look small. A gradient
# that is mostly rounding, such as that of a bias of keys, has no scale.
OF_GRADIENT, RANDOM, UNKNOWN = 4e-3, 5.0, 0.1
OF_EXACT_GRADIENT = 1e-3  # where rounding is that of fp32; measured: 2e-4, where a ReLU switches
SEEN = 1e-2  # the error that is to be seen
# The scale of an update from parameters of 0. In bf16 SGD rounds three times, each by at most 2^-9,
# which is 5.9e-3 together; measured: at most 3.6e-3, in fp32 1e-7.
OF_UPDATE = 6e-3


@dataclass(frozen=True)
class Scale:
    """How wrong the scale of one parameter's gradients, or updates, is, and may be."""

    parameter: str
    error: float
    tolerance: float
    parts: int = 1  # of all parameters
    unsure: int = 0  # of these, for which rounding hides an error of 1 %

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance

    @property
    def excess(self) -> float:
        multiple = self.error / self.tolerance
        return math.inf if math.isnan(multiple) else multiple

    def sentence(self, what: str) -> str:
        return (
            f"the scale of {what} of {self.parameter} by {self.error:.2g} (at most "
            f"{self.tolerance:.2g})"
        )

    def payload(self) -> dict[str, Any]:
        """The error as a payload."""
        return {
            "parameter": self.parameter,
            "error": _number(self.error),
            "tolerance": _number(self.tolerance),
            "parts": self.parts,
            "unsure": self.unsure,
        }


@dataclass(frozen=True)
class Verdict(Errors):
    """The differences between a strategy and one device, in one precision."""

    tolerance: float  # of gradients and losses
    scale_tolerance: float
    precision: str
    steps: int
    gradient_scale: Scale | None = None  # of the worst parameter, relative to its tolerance
    update_scale: Scale | None = None
    covers: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()
    in_own_types: "Verdict | None" = field(default=None)  # None: they are fp64

    @property
    def ok(self) -> bool:
        """Whether the strategy is right, so that its speed counts."""
        within = (  # false for nan, unlike max()
            self.gradient_error <= self.tolerance
            and self.loss_error <= self.tolerance
            and self.scale_error <= self.scale_tolerance
            and all(scale.ok for scale in self._scales().values())
        )
        others = self.in_own_types is None or self.in_own_types.ok
        return within and self.replicas_equal and others

    def _scales(self) -> dict[str, Scale]:
        scales = {"gradients": self.gradient_scale, "updates": self.update_scale}
        return {what: scale for what, scale in scales.items() if scale is not None}

    def differences(self) -> str:
        """The differences in a sentence, those in the program's own types behind it."""
        told = [
            f"in {self.precision} gradients differ by {self.gradient_error:.2g} (relative, at most "
            f"{self.tolerance:.2g}), their scale by {self.scale_error:.2g} (at most "
            f"{self.scale_tolerance:.2g})"
        ]
        told += [scale.sentence(what) for what, scale in self._scales().items()]
        told.append(f"losses by {self.loss_error:.2g}, equal replicas: {self.replicas_equal}")
        own = [] if self.in_own_types is None else [self.in_own_types.differences()]
        return "; ".join([", ".join(told), *own])

    def advice(self) -> str:
        """Where to look for the error of a verdict that is not ok."""
        if self.in_own_types is not None and replace(self, in_own_types=None).ok:
            return (
                "exact numbers are right: look at what these types alone use (autocast, gradient "
                "scaler, --comm-hook, --mixed-precision, --reduce-dtype)"
            )
        return (
            "look at the mode and its options: leave them out in turn; --check-steps 1 compares "
            "gradients before any update"
        )

    def payload(self) -> dict[str, Any]:
        """The verdict as a payload; an error that is not finite is None."""
        told: dict[str, Any] = {
            "ok": self.ok,
            "gradient_error": _number(self.gradient_error),
            "scale_error": _number(self.scale_error),
            "loss_error": _number(self.loss_error),
            "replicas_equal": self.replicas_equal,
            "tolerance": _number(self.tolerance),
            "scale_tolerance": _number(self.scale_tolerance),
            "reference": "single",
            "precision": self.precision,
            "steps": self.steps,
        }
        told |= {f"scale_of_{what}": scale.payload() for what, scale in self._scales().items()}
        if self.covers or self.leaves_out:
            told |= {"covers": list(self.covers), "leaves_out": list(self.leaves_out)}
        if self.in_own_types is not None:
            told["in_own_types"] = self.in_own_types.payload()
        return told


def judge(
    expected: Expected, ranks: Sequence[RankResult], floor: float, precision: str, steps: int
) -> Verdict:
    """The verdict on the parts of all ranks; ``floor`` is the tolerance without rounding."""
    rounding = expected.relative_rounding()
    least = min(OF_GRADIENT, max(floor, OF_EXACT_GRADIENT) + MULTIPLE * rounding)
    scale = _guessed if expected.reordered else _known
    gradients = [
        scale(str(part[0]), found, least)
        for part, found in worst_copies([rank.differences for rank in ranks]).items()
    ]
    updates = [
        _guessed(str(part[0]), found, OF_UPDATE)
        for part, found in worst_copies([rank.updates for rank in ranks]).items()
    ]
    return Verdict(
        **vars(compare(expected, ranks)),
        tolerance=floor + MULTIPLE * rounding,
        scale_tolerance=min(floor, IN_FP32) + SCALE_MULTIPLE * rounding,
        precision=precision,
        steps=steps,
        gradient_scale=_worst(gradients, least) if expected.rounding else None,
        update_scale=_worst(updates, OF_UPDATE),
    )


def _worst(scales: Sequence[Scale], least: float) -> Scale | None:
    meant = [scale for scale in scales if not scale.tolerance > least + UNKNOWN]
    if not meant:
        return None
    unsure = sum(scale.tolerance >= SEEN for scale in scales)
    return replace(max(meant, key=lambda scale: scale.excess), parts=len(scales), unsure=unsure)


def _known(parameter: str, found: Difference, least: float) -> Scale:
    right = max(found.right, 1e-300)
    error = min(abs(found.along), abs(found.along - found.rounding_along))
    return Scale(parameter, error / right, least + found.rounding_spread / right)


def _guessed(parameter: str, found: Difference, least: float) -> Scale:
    right = max(found.right, 1e-300)
    rounding = abs(found.rounding_along) + RANDOM * found.rounding_spread + found.rounding
    return Scale(parameter, abs(found.along) / right, least + rounding / right)


def _number(value: float) -> float | None:
    return float(f"{value:.3g}") if math.isfinite(value) else None
