"""Which of several devices or nodes are slower than the spread of their kind explains.

Healthy devices of a kind differ: silicon by some 5 % within a node (``docs/validate_peers.rst`` has
the sources). So a defect is not what differs significantly, but what lies below the spread of its
peers, whatever its shape. The spread is not known: it is estimated from the same devices, of which
up to a third may be bad. All that is bad is slow. So the search starts with the faster half, and
takes in the next slower devices as long as the spread of those that it has explains them:

* A device is a peer if it is less than ``TOLERANCE`` below the median of the peers.
* It is one if Student's t, at the level ``ALPHA / tests``, explains its distance from the median by
  their standard deviation s. Not if that is more than ``MOST`` below the median, unless the faster
  half spreads as widely: else each slow device would explain the next one.
* It is not if its distance from the slowest peer is more than ``GAP`` standard deviations. So what
  lies below all others is found where the spread has an edge (uniform, or several bins of silicon).

What is no peer in the end is below the spread. For s, the prior counts as ``PRIOR_FREEDOM`` devices
more, with the deviation ``PRIOR`` (a scaled inverse chi-squared prior: A. Gelman and others,
"Bayesian Data Analysis", 3rd ed., section 2.6): few peers do not show how kinds spread. Of many,
the slowest ones tell, too, how light the tail is.

The measurement errors of devices are in their spread, which is never less. One that is less sure
than most is judged with what its variance exceeds theirs by, and tells nothing of the spread where
it is slow; nor does one that is far faster than the others.

``tests/studies/simulated_clusters.py`` counts false and missed defects.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, median_high

from msgspec import Struct

from ...numerics import Floats, Marks, np
from ..statistics.student import assured, quantile
from ..statistics.values import robust_std

ALPHA = 0.01  # the probability that anyone of healthy devices and nodes is found, over all tests
MISSED = 0.005  # the probability that the smallest defect is not: half of what is told
TOLERANCE = 0.045  # of logarithms, as all below
MOST = 0.08  # SC22 (arXiv 2208.11035): the same GPUs differ by 8 % on average
GAP = 2.5
FAR_FASTER = 3.0  # robust standard deviations
PRIOR, PRIOR_FREEDOM = 0.0125, 8.0
TAIL, CAUTION = 5, 1.1  # devices, and a factor, as a few do not tell it exactly
FEWEST = 250  # devices, of which these are the tail
MEDIAN_WORTH = 1.57  # the variance of a median, of that of a mean
ROUNDS = 100  # seldom more than five


class Compared(Struct, frozen=True):
    """Devices, or nodes, beside their peers; as logarithms, shape (n,) each."""

    median: float  # of the peers
    limits: Floats  # how far below the median each may be
    smallest: Floats  # defects that would have been found but for ``MISSED``
    are_below: Marks  # the spread of their peers


def compare_devices(
    logs: Floats, errors: Floats, nodes: Sequence[int], families: int
) -> tuple[Compared, Compared | None]:
    """The devices of a benchmark, and their nodes by their ``middle`` devices.

    Args:
        logs: of the rates, shape (n,), two or more.
        errors: the standard errors of the logarithms, shape (n,).
        nodes: the number of the node of each, from 0, without a gap.
        families: how many such comparisons there are in all, of benchmarks and kinds.

    Returns:
        the nodes are None if there is one, or if each has one device.
    """
    count = max(nodes) + 1
    has_nodes = 1 < count < len(logs)
    tests = families * (len(logs) + count * has_nodes)
    devices = compare(logs, errors, tests)
    if not has_nodes:
        return devices, None
    in_order = np.argsort(nodes, kind="stable")
    of_nodes = np.split(in_order, np.cumsum(np.bincount(nodes))[:-1])
    medians = np.array([middle(logs[own]) for own in of_nodes])
    sems = [math.sqrt(MEDIAN_WORTH * np.mean(errors[own] ** 2) / len(own)) for own in of_nodes]
    return devices, compare(medians, np.array(sems), tests)


def middle(logs: Floats) -> float:
    """The level of a node: the upper median, so that one of two slow devices is no slow node."""
    return float(median_high(logs))


def compare(logs: Floats, errors: Floats, tests: int) -> Compared:
    """Compare values with their peers; of two, the slower one with the other (see the module).

    Args:
        logs: shape (n,), two or more.
        errors: their standard errors, shape (n,).
        tests: how many values are compared in all.
    """
    level, usual = ALPHA / tests, float(np.median(errors))
    median = float(np.median(logs)) if len(logs) > 2 else float(logs.max())
    are_peers = logs >= median
    # the other half is as wide, in all that is symmetrical; one that is far faster tells nothing
    far = FAR_FASTER * robust_std(logs[are_peers], median)
    values = np.minimum(logs, median + far)
    distances, count, edge, most = values[are_peers] - median, len(logs), 0.0, 0.0
    for _ in range(ROUNDS):
        deviation, freedom = _deviation(distances)
        error = max(deviation, usual) * math.sqrt(1 + MEDIAN_WORTH / count)
        t = quantile(level, freedom)
        most = most or max(MOST, t * error)
        limit = max(TOLERANCE, min(t * error, most, edge + GAP * error))
        grown = are_peers | (values >= median - limit)
        if (grown == are_peers).all():
            break
        are_peers, peers = grown, values[grown]
        median = float(np.median(peers)) if len(logs) > 2 else median
        distances, count = median - peers, len(peers)
        edge = float(distances.max())
    unsure = np.sqrt(np.maximum(errors**2 - usual**2, 0.0))
    limits = np.hypot(limit, t * unsure)
    # a defect may be that of a fast device; both the spread and the limit were estimated
    k = min(t, limit / error)
    faster = float(np.quantile(values[are_peers] - median, 1 - MISSED))
    chance = max((assured(k, MISSED, freedom, freedom) - k) * error, faster)
    smallest = limits + np.hypot(chance, t * unsure) + (logs - values)
    return Compared(median, limits, smallest, logs < median - limits)


def _deviation(distances: Floats) -> tuple[float, float]:
    """The standard deviation around the median, with its prior, and its degrees of freedom.

    Args:
        distances: of all from the median; of the slower ones, or of those of one half, 0 or more.
    """
    variance, slower = float((distances**2).mean()), distances[distances >= 0]
    if 2 * len(slower) >= FEWEST:
        share = TAIL / (2 * len(slower))  # of a normal distribution, that far below
        tail = float(np.quantile(slower, 1 - 2 * share)) / NormalDist().inv_cdf(1 - share)
        variance = min(variance, (CAUTION * tail) ** 2)
    own = len(distances) - 1
    freedom = PRIOR_FREEDOM + own
    return math.sqrt((PRIOR_FREEDOM * PRIOR**2 + own * variance) / freedom), freedom
