"""The devices and ranks that are slower than their peers, by more than chance and enough to matter.

A device that runs a program alone is compared by its rate. A rank that trains with others is
compared by its local time (see ``ranks``): it stands out where that is longer than the median of
the others by more than 3 % of it, 5 robust standard deviations of all ranks (1.4826 times the
median absolute deviation) and 4 standard errors of its mean; and by more than 1 % of the step, for
what the job loses is at most that.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .interval import Series, interval
from .process import Processes
from .ranks import RankId, RankSummary, rank_id
from .steady import MAD_TO_STD

SLOW = 0.03  # a device that is slower than its peers by less is not worth a word
SURE = 4.0  # standard errors
FAR = 5.0  # robust standard deviations
MATTERS = 0.01  # of a step
FEWEST = 3  # of two, it cannot be said which one is odd


@dataclass(frozen=True)
class SlowDevice:
    """A device that is slower than the others, in units per second."""

    id: RankId
    rate: float
    typical: float  # the median of the others

    @property
    def slower(self) -> float:
        """By how much, as a fraction of the others' median."""
        return (self.typical - self.rate) / self.typical


def slow_device(processes: Processes) -> SlowDevice | None:
    """The slowest of three devices and more, where it is really slower than the others."""
    devices: dict[RankId, list[Series]] = {}
    for process in processes:
        if process.record.device is not None and process.series is not None:
            devices.setdefault(rank_id(process.record, 0), []).append(process.series)
    if len(devices) < FEWEST:
        return None
    rates = {id: statistics.fmean(s.mean for s in series) for id, series in devices.items()}
    slowest = min(rates, key=lambda id: (rates[id], id))
    typical = statistics.median(rate for id, rate in rates.items() if id != slowest)
    gap = typical - rates[slowest]
    if gap <= SLOW * typical:
        return None
    sure = interval([[series] for series in devices[slowest]])
    if sure is not None and gap <= SURE * sure.sem:
        return None
    return SlowDevice(slowest, rates[slowest], typical)


def stragglers(ranks: Sequence[RankSummary]) -> tuple[list[RankSummary], float]:
    """The ranks that stand out by their local time, the slowest first, and the others' median."""
    known = [rank for rank in ranks if rank.local]
    if len(known) < FEWEST:
        return [], 0.0
    times = [rank.local_ms for rank in known]
    level, step = statistics.median(times), statistics.median(rank.median for rank in known)
    spread = MAD_TO_STD * statistics.median(abs(time - level) for time in times)
    far = max(SLOW * level, FAR * spread, MATTERS * step if step > 0 else 0.0)
    odd = [rank for rank in known if rank.local_ms - level > max(far, SURE * rank.local_error)]
    others = [rank.local_ms for rank in ranks if rank not in odd]
    return sorted(odd, key=lambda rank: -rank.local_ms), statistics.median(others)


def slowest_part(rank: RankSummary, ranks: Sequence[RankSummary]) -> str:
    """The part of a rank's local time that is furthest above the median of all."""

    def excess(part: str) -> float:
        return rank.local[part] - statistics.median(other.local.get(part, 0.0) for other in ranks)

    return max(rank.local, key=excess)
