"""The devices and ranks that are slower than their peers, by more than chance and enough to matter.

A device that runs a program alone is compared by its rate. A rank that trains with others is
compared by its own work (see ``own``): it stands out where that is longer than the median of the
others by more than 3 % of it, 5 robust standard deviations of all ranks (1.4826 times the median
absolute deviation) and 4 standard errors of its mean; and by more than 1 % of the step, for what
the job loses is at most that.
"""

import statistics
from collections.abc import Iterator, Sequence

from .interval import interval
from .measure import Process
from .member import Member
from .place import Place, place
from .steady import MAD_TO_STD

SLOW = 0.03  # a device that is slower than its peers by less is not worth a word
SURE = 4.0  # standard errors
FAR = 5.0  # robust standard deviations
MATTERS = 0.01  # of a step
FEWEST = 3  # of two, nobody can say which one is odd


def slow_device(name: str, processes: Sequence[Process]) -> Iterator[str]:
    """The slowest of three devices and more, where it is really slower than the others."""
    devices: dict[Place, list[Process]] = {}
    for process in processes:
        if process.record.config.get("device") is not None and process.series is not None:
            devices.setdefault(place(process.record, 0), []).append(process)
    if len(devices) < FEWEST:
        return
    rates = {
        device: statistics.fmean(p.series.mean for p in group if p.series)
        for device, group in devices.items()
    }
    slowest = min(rates, key=lambda device: (rates[device], device))
    peers = statistics.median(rate for device, rate in rates.items() if device != slowest)
    gap = peers - rates[slowest]
    if gap <= SLOW * peers:
        return
    sure = interval([[p.series] for p in devices[slowest] if p.series])
    if sure is None or gap > SURE * sure.sem:
        unit = next((p.record.units for p in processes if p.record.units), "")
        yield (
            f"{name}: {slowest.label} is {gap / peers:.1%} slower than the median of the others "
            f"({rates[slowest]:.5g} against {peers:.5g} {unit})".replace(" )", ")")
        )


def slow_ranks(name: str, members: Sequence[Member]) -> Iterator[str]:
    """The ranks of a job that hold the others up."""
    found = stragglers(members)
    if not found:
        return
    first, typical = found[0], statistics.median(m.own_ms for m in members if m not in found)
    more = first.own_ms / typical - 1
    yield (
        f"{name}: {first.place.label} is {more:.1%} slower than the median of the others in its "
        f"own work ({first.own_ms:.5g} against {typical:.5g} ms a step, mostly "
        f"{most_of(first, members)}): they wait for it{_others(found[1:])}"
    )


def stragglers(members: Sequence[Member]) -> list[Member]:
    """Those that stand out by their own work, the slowest first."""
    known = [member for member in members if member.own]
    if len(known) < FEWEST:
        return []
    works = [member.own_ms for member in known]
    level, step = statistics.median(works), statistics.median(m.median for m in known)
    spread = MAD_TO_STD * statistics.median(abs(work - level) for work in works)
    far = max(SLOW * level, FAR * spread, MATTERS * step if step > 0 else 0.0)
    odd = [m for m in known if m.own_ms - level > max(far, SURE * m.own_error)]
    return sorted(odd, key=lambda member: -member.own_ms)


def most_of(member: Member, members: Sequence[Member]) -> str:
    """The part of a member's own work that is furthest above the median of all."""

    def excess(part: str) -> float:
        return member.own[part] - statistics.median(m.own.get(part, 0.0) for m in members)

    return max(member.own, key=excess)


def _others(odd: Sequence[Member]) -> str:
    if not odd:
        return ""
    nodes = {member.place.node for member in odd}
    where = f", all of {nodes.pop()}" if len(nodes) == 1 and "" not in nodes else ""
    return f"; and for {len(odd)} more{where}"
