"""The model of a message's time: ``time = alpha + bytes / beta``, with one or several lines.

alpha is a latency and 1/beta a time per byte: neither can be negative, so the least squares are
those of C. L. Lawson and R. J. Hanson, "Solving Least Squares Problems", 1974, chapter 23, which
for two unknowns need no iteration. Errors are relative, (line - time) / time: times span decades,
and their noise is proportional to them.

Libraries change their protocol or their algorithm with the size, and then one line describes no
size well. So where a line is off by more than ``HOLDS_WITHIN``, two or three lines are tried, each
for a range of sizes. They are believed if the corrected Akaike criterion prefers them (C. M.
Hurvich and C.-L. Tsai, Biometrika 76, 1989), which counts the bounds as parameters, too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from operator import mul

Points = Sequence[tuple[float, float]]  # (bytes, seconds), in ascending order of bytes

HOLDS_WITHIN = 0.1  # relative; a line that is nowhere off by more describes the operation
MOST_LINES = 3
LEAST_SIZES = 3  # of a line that is one of several: two would be met by any line
RESOLUTION = 1e-3  # relative; smaller residuals say nothing, whatever the clock
ROUNDING = 1e-9  # relative, of the arithmetic


@dataclass(frozen=True)
class Line:
    """A line through points: ``time = alpha + bytes / beta``."""

    alpha: float  # seconds, at least 0
    beta: float  # bytes per second; inf where time does not grow with size, within its error
    alpha_error: float  # standard error; nan for two points, which no line misses
    beta_error: float  # inf with ``beta``
    errors: tuple[float, ...]  # (line - time) / time, of each point


@dataclass(frozen=True)
class Fit:
    """The lines through the points of an operation, each for a range of sizes."""

    lines: tuple[Line, ...]
    switches: tuple[float, ...]  # bytes, from which on the next line holds
    residual: float  # root mean square of the relative errors of all points
    worst_error: float  # relative, with its sign
    worst_bytes: float

    @property
    def alpha(self) -> float:
        return self.lines[0].alpha

    @property
    def beta(self) -> float:
        return self.lines[-1].beta

    @property
    def alpha_error(self) -> float:
        """The standard error of ``alpha``."""
        return self.lines[0].alpha_error

    @property
    def beta_error(self) -> float:
        """The standard error of ``beta``; inf with ``beta``."""
        return self.lines[-1].beta_error


def fit(points: Points) -> Fit | None:
    """One line if it holds, else as many as the points justify; None for fewer than two sizes."""
    points = sorted(points)
    sizes = {size for size, _ in points}
    if len(sizes) < 2:
        return None
    best = _lines(points, ())
    if abs(best.worst_error) > HOLDS_WITHIN and len(sizes) == len(points):
        for count in range(2, MOST_LINES + 1):
            tried = _best(points, count)
            if tried and _criterion(tried, len(points)) < _criterion(best, len(points)):
                best = tried
    return best


def _best(points: Points, count: int) -> Fit | None:
    """The best division into so many lines; None if there are too few sizes."""
    found: Fit | None = None
    for inner in combinations(range(LEAST_SIZES, len(points) - LEAST_SIZES + 1), count - 1):
        bounds = (0, *inner, len(points))
        if any(end - begin < LEAST_SIZES for begin, end in pairwise(bounds)):
            continue
        divided = _lines(points, inner)
        if found is None or divided.residual < found.residual:
            found = divided
    return found


def _lines(points: Points, inner: Sequence[int]) -> Fit:
    """The lines of the ranges of points that begin at 0 and at each of ``inner``."""
    lines = tuple(_line(points[begin:end]) for begin, end in pairwise((0, *inner, len(points))))
    errors = [error for line in lines for error in line.errors]
    worst = max(range(len(points)), key=lambda k: abs(errors[k]))
    return Fit(
        lines,
        tuple(points[k][0] for k in inner),
        math.sqrt(_dot(errors, errors) / len(errors)),
        errors[worst],
        points[worst][0],
    )


def _line(points: Points) -> Line:
    """The line with the least relative errors through at least two sizes."""
    # 1 = alpha * u + slope * v, with u = 1 / time and v = bytes / time
    u = [1 / time for _, time in points]
    v = [size / time for size, time in points]
    uu = _dot(u, u)
    center = _dot(u, v) / uu  # the weighted mean size: around it nothing cancels
    shifted = [b - center * a for a, b in zip(u, v, strict=True)]
    square = _dot(shifted, shifted)
    slope = math.fsum(shifted) / square
    alpha = math.fsum(u) / uu - slope * center
    if alpha < 0:
        alpha, slope = 0.0, math.fsum(v) / _dot(v, v)
    errors = [alpha * a + slope * b - 1 for a, b in zip(u, v, strict=True)]
    spare = len(points) - 2
    noise = math.sqrt(_dot(errors, errors) / spare) if spare else math.nan
    slope_error = noise / math.sqrt(square)
    alpha_error = noise * math.sqrt(1 / uu + center**2 / square)
    # ``max`` keeps its first argument if the other is nan.
    if slope < 2 * max(ROUNDING / math.sqrt(square), slope_error):
        flat = math.fsum(u) / uu
        errors = [flat * a - 1 for a in u]
        return Line(flat, math.inf, alpha_error, math.inf, tuple(errors))
    return Line(alpha, 1 / slope, alpha_error, slope_error / slope**2, tuple(errors))


def _criterion(found: Fit, points: int) -> float:
    # alpha and beta of each line, the bounds between them, and the size of the noise
    parameters = 2 * len(found.lines) + len(found.switches) + 1
    spare = points - parameters - 1
    if spare <= 0:
        return math.inf if found.switches else -math.inf
    noise = max(found.residual, RESOLUTION)
    penalty = 2 * parameters + 2 * parameters * (parameters + 1) / spare
    # The best of many places is taken for each bound: noise has as many chances to look like one.
    penalty += 2 * len(found.switches) * math.log(max(points - 2 * LEAST_SIZES + 1, 1))
    return 2 * points * math.log(noise) + penalty


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(map(mul, a, b))
