"""When a benchmark has been launched often enough: the interval of its rate is as narrow as asked.

Who stops as soon as an interval is narrow stops too often where the launches so far are alike by
chance: of the intervals that are left, too few hold the mean (Y. S. Chow, H. Robbins, "On the
asymptotic theory of fixed-width sequential confidence intervals for the mean", Annals of
Mathematical Statistics 36, 1965; N. Starr, "The performance of a sequential procedure for the
fixed-width interval estimation of the mean", ibid. 37, 1966). So there are ``LEAST`` launches
before the first look, and the interval must be narrower than asked by a margin, which shrinks with
the launches. What is then printed is as wide as was asked, as in both papers: that it is narrower
may be the chance that ended the launches. ``tests/studies/planted_launches.py`` shows how often it
holds the mean: in 93 % and more, also where launches have one of two speeds, which need the sixth
launch.
"""

import math

from msgspec import Struct

from .batch_means import t_quantile
from .interval import Launches, interval, over_launches, pooled_mean, reach

LEAST = 6  # launches before the first look
MARGIN = 3.0  # launches: n of them must make the interval narrower by (1 + MARGIN / n)


class Precision(Struct, frozen=True):
    """How precise a mean rate is, and how many launches it needs in all."""

    half_width: float | None  # of the interval, as a fraction of the mean; None with one launch
    expected: int  # launches in all, as far as those so far tell
    is_enough: bool
    problem: str = ""  # why more launches do not make the interval narrower


def precision(launches: Launches, until: float) -> Precision:
    """How precise the mean of these launches is, and how many launches it needs.

    Args:
        until: the half width that the interval is to have, as a fraction of the mean.
    """
    count = len(launches)
    sure = interval(launches) if count > 1 else None
    if sure is None:
        return Precision(None, LEAST, is_enough=False)
    middle = pooled_mean(launches)
    half_width = max(middle - sure.low, sure.high - middle) / middle
    sem = over_launches(launches).sem / middle
    expected = count if is_narrow(sem, count, until) else needed(sem, count, until)
    is_enough = expected == count
    # What one launch leaves open stays open: a rate that falls to its end, say.
    if (least := max(reach(launches)) / middle) > until:
        why = f"within a launch its rate is known to ±{least:.1%} alone: measure longer"
        return Precision(half_width, LEAST, count >= LEAST, why)
    return Precision(max(half_width, until) if is_enough else half_width, expected, is_enough)


def is_narrow(sem: float, count: int, until: float) -> bool:
    """Whether ``count`` launches are enough, by the standard error of their mean.

    Args:
        sem: the standard error, as a fraction of the mean.
        count: how many launches it is from.
        until: the half width that the interval is to have, as a fraction of the mean.
    """
    return count >= LEAST and t_quantile(count - 1) * sem * (1 + MARGIN / count) <= until


def needed(sem: float, count: int, until: float) -> int:
    """How many launches are needed in all if the next ones differ as much as ``count`` do."""
    deviation = sem * math.sqrt(count)
    total = max(count + 1, LEAST, math.floor((t_quantile(math.inf) * deviation / until) ** 2))
    while not is_narrow(deviation / math.sqrt(total), total, until):
        total += 1
    return total
