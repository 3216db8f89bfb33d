"""The verdicts on the ratios of a suite: slower, faster, same, or cannot tell.

A threshold says what a change is. Each verdict is a claim about the true ratio, with an error rate
of its own:

slower, faster
    The rate changed by more than the threshold (by anything at all, without one): not only is the
    ratio beyond it, but surely so. It is the test against a threshold of D. J. McCarthy, G. K.
    Smyth ("Testing significance relative to a fold-change threshold is a TREAT", Bioinformatics
    25(6), 2009). To test against no change, and then to sort by the size that was seen, would call
    half of the changes that are as large as the threshold larger.
same
    It changed by less than ``within``: two one-sided tests (D. J. Schuirmann, Journal of
    Pharmacokinetics and Biopharmaceutics 15, 1987).
cannot tell
    Neither is sure.

Of a suite of 30 benchmarks, one in 20 would be called slower or faster by chance in most suites.
So the false discovery rate is held over all (Y. Benjamini, Y. Hochberg, Journal of the Royal
Statistical Society B 57(1), 1995): of the verdicts "slower" and "faster", 5 % are expected to be
false at most, and where nothing changed, 5 % of the suites have one. The same holds for "same".
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from ...numerics import np
from ..statistics.student import assured, quantile, tail
from .ratios import Ratio

FALSE = 0.05  # of the verdicts, at most
MISSED = 0.10  # of the changes that this data could have shown
MOST_LAUNCHES = 100  # that anybody would be told to run


class RatioVerdict(StrEnum):
    """What is said about a benchmark."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    CANNOT_TELL = "cannot tell"
    FAILED = "failed"  # on one side, or both
    MISSING = "missing"  # on one side


CHANGES = (RatioVerdict.SLOWER, RatioVerdict.FASTER)


class Judged(Struct, frozen=True):
    """The verdict on a ratio."""

    verdict: RatioVerdict
    p_value: float | None = None  # of a change beyond the threshold, adjusted for all benchmarks
    could_have_seen: float | None = None  # the smallest slow-down, found in 90 %, as a fraction
    needed: int | None = None  # on each side, to see one of ``within``


def judge(ratios: Sequence[Ratio], threshold: float, within: float) -> list[Judged]:
    """The verdicts on the ratios of all benchmarks of a suite.

    Args:
        ratios: those of too few launches to tell how they differ get ``cannot tell``.
        threshold: the smallest change that counts, as a fraction: of 0.03, ratios of 0.97 and
            1/0.97.
        within: what "same" means, as such a fraction, above 0.
    """
    change, margin = -math.log1p(-threshold), -math.log1p(-within)
    sure = [ratio for ratio in ratios if ratio.can_be_judged]
    p_changed = adjusted([_changed(ratio, change) for ratio in sure])
    p_same = adjusted([_same(ratio, margin) for ratio in sure])
    found = sum(p <= FALSE for p in p_changed)
    judged = []
    for ratio, changed, same in zip(sure, p_changed, p_same, strict=True):
        if changed <= FALSE:
            verdict = RatioVerdict.SLOWER if ratio.log < 0 else RatioVerdict.FASTER
        elif same <= FALSE:
            verdict = RatioVerdict.SAME
        else:
            verdict = RatioVerdict.CANNOT_TELL
        # how small its p-value must be, with those that were found
        level = FALSE * min(found + (changed > FALSE), len(sure)) / len(sure)
        seen = -math.expm1(-change - _resolved(ratio, level, *ratio.launches))
        needed = None
        if verdict is RatioVerdict.CANNOT_TELL:
            needed = _needed(ratio, level, margin)
        judged.append(Judged(verdict, changed, seen, needed))
    rest = iter(judged)
    without = Judged(RatioVerdict.CANNOT_TELL)
    return [next(rest) if ratio.can_be_judged else without for ratio in ratios]


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, so that those below q have a false discovery rate of q.

    By Benjamini and Hochberg: the least of ``p * n / rank`` over all that are no smaller.
    """
    count = len(p_values)
    largest_first = np.argsort(p_values, kind="stable")[::-1]
    scaled = np.array(p_values)[largest_first] * count / np.arange(count, 0, -1)
    found = np.ones(count)
    found[largest_first] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return found.tolist()


def _changed(ratio: Ratio, change: float) -> float:
    size, freedom = abs(ratio.log), ratio.noise.freedom
    beyond, opposite = (size - change) / ratio.sem, (size + change) / ratio.sem
    return min(tail(beyond, freedom) + tail(opposite, freedom), 1.0)


def _same(ratio: Ratio, margin: float) -> float:
    """The probability of a ratio so near to 1, if it were at the margin."""
    return tail((margin - abs(ratio.log)) / ratio.sem, ratio.noise.freedom)


def _resolved(ratio: Ratio, level: float, before: int, after: int) -> float:
    """The change of the logarithm that so many further launches show in 90 % of the cases."""
    more = before + after - sum(ratio.launches)
    freedom = ratio.noise.freedom + more / (1 + ratio.is_paired)
    if freedom < 1:
        return math.inf
    sure = assured(quantile(level / 2, freedom), MISSED, ratio.noise.freedom, freedom)
    is_as_it_is = (before, after) == ratio.launches
    return sure * (ratio.sem if is_as_it_is else ratio.sem_with(before, after))


def _needed(ratio: Ratio, level: float, margin: float) -> int | None:
    """The launches on each side that show a change of ``margin``; None: more than anybody runs."""
    counts = range(2, MOST_LAUNCHES + 1)
    place = bisect_left(counts, -margin, key=lambda count: -_resolved(ratio, level, count, count))
    return counts[place] if place < len(counts) else None
