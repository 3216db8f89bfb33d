"""Stragglers: devices and ranks that are slower than the others, by more than chance.

A device that runs a program alone is compared by its rate. A rank that trains with others is
compared by its local time (see ``ranks``). A straggler's local time exceeds the median of all ranks
by more than each of these: 3 % of the median; 5 robust standard deviations of all ranks (1.4826
times the median absolute deviation); 4 standard errors of its own mean; and 1 % of the step, since
the job loses at most the time by which the rank is late.
"""

from collections.abc import Sequence

from .interval import interval
from .model import Finding, Findings, Row
from .process import series_of_devices
from .ranks import RankSummary
from .statistics import NAN, mean, median
from .steady import MAD_TO_STD

SLOW = 0.03  # a smaller difference is not reported
SURE = 4.0  # standard errors
FAR = 5.0  # robust standard deviations
MATTERS = 0.01  # of a step
FEWEST = 3  # of two, either could be the slow one


def slow_devices(row: Row) -> Findings:
    """The slowest of three or more devices, if it is slower than the others by more than chance."""
    series = series_of_devices(row.processes)
    if len(series) < FEWEST:
        return
    rates = []
    for id, found in series.items():
        rates.append((mean(each.mean for each in found), id))
    rates.sort()
    rate, slowest = rates[0]
    typical = median(other for other, _ in rates[1:])
    gap = typical - rate
    if gap <= SLOW * typical:
        return
    sure = interval([[each] for each in series[slowest]])
    if sure is not None and gap <= SURE * sure.sem:
        return
    against = f"{rate:.5g} against {typical:.5g} {row.unit}".rstrip()
    slower = gap / typical
    sentence = f"{slowest.label} is {slower:.1%} slower than the median of the others ({against})"
    evidence = {"rate": rate, "median": typical, "slower": slower}
    yield Finding(sentence, place=slowest.label, evidence=evidence)


def slow_ranks(row: Row) -> Findings:
    """The ranks that the other ranks of their job wait for."""
    ranks = row.ranks
    found, typical = stragglers(ranks)
    if not found or any(process.record.device is not None for process in row.processes):
        return
    first, *others = found
    local_ms = first.local_ms
    slower = local_ms / typical - 1
    part = slowest_part(first, ranks)
    sentence = (
        f"{first.id.label} is {slower:.1%} slower than the median of the others in its own work "
        f"({local_ms:.5g} against {typical:.5g} ms a step, mostly {part}): they wait for it"
    )
    if others:
        sentence += f"; and for {len(others)} more"
        nodes = {rank.id.node for rank in others}
        if len(nodes) == 1 and "" not in nodes:
            sentence += f", all of {nodes.pop()}"
    evidence = {"local_ms": local_ms, "median": typical, "slower": slower, "part": part}
    yield Finding(sentence, place=first.id.label, evidence=evidence)


def stragglers(ranks: Sequence[RankSummary]) -> tuple[list[RankSummary], float]:
    """The slow ranks, the slowest first, and the median local time of the others in ms."""
    known = [rank for rank in ranks if rank.local]
    if len(known) < FEWEST:
        return [], NAN
    level = median(rank.local_ms for rank in known)
    distances = [abs(rank.local_ms - level) for rank in known]
    spread = MAD_TO_STD * median(distances)
    step = median(rank.median for rank in known)
    far = max(SLOW * level, FAR * spread)
    if step > 0:
        far = max(far, MATTERS * step)
    odd: list[RankSummary] = []
    others: list[RankSummary] = []
    for rank in known:
        enough = max(far, SURE * rank.local_error)
        if rank.local_ms - level > enough:
            odd.append(rank)
        else:
            others.append(rank)
    odd.sort(key=lambda rank: -rank.local_ms)
    return odd, median(rank.local_ms for rank in others)


def slowest_part(rank: RankSummary, ranks: Sequence[RankSummary]) -> str:
    """The part of a rank's local time that exceeds the median of all ranks the most."""

    def excess(part: str) -> float:
        typical = median(other.local.get(part, 0.0) for other in ranks)
        return rank.local[part] - typical

    return max(rank.local, key=excess)
