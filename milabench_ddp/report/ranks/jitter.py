"""Jitter: steps of ranks that take longer again and again, in their own work, at equal distances.

A pause of one rank makes the step of all ranks longer, but only its own work shows whose it is (see
``rank_launch``). Pauses are looked for in the own work with the wait for data, and if none recur
there, without it, because loaders make it uneven. Their distances are compared in steps, and in
time: what comes every two seconds comes after more steps where these are shorter. Where own work is
not known, the steps of one rank tell that pauses recur, but not whose they are.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ...grouping import grouped
from ...numerics import Counts, Floats, np
from ..statistics.periodicity import Pauses, Recurrence, excess_of, pauses_of, recurrences
from .rank_launch import EXPOSED, RankLaunch
from .rank_summary import RankId

MOSTLY, PARTLY = 0.7, 0.2  # the share of a pause in the part that is named, or in each of several
SURER = 1.2  # distances in time count if their probability is this power of that in steps

Launches = Sequence[tuple[RankId, RankLaunch]]


class Jitter(Struct, frozen=True):
    """Pauses that recur."""

    steps: float  # from one to the next
    spread: float  # nine of ten distances differ from ``steps`` by no more
    seconds: float  # from one to the next
    by_time: bool  # whether their distances are equal in time, but not in steps
    ms: float  # by which a step takes longer, the median
    parts: tuple[str, ...]  # of the step in which they are; empty if not known
    ids: tuple[RankId, ...]  # of the ranks or devices; empty if not known
    share: float  # of the time that it costs where it is
    count: int  # of the pauses


class _Series(Struct, frozen=True):
    """The steps of a rank in a launch."""

    id: RankId
    launch: RankLaunch
    times: Floats  # in ms, of what is searched
    pauses: Pauses


# Series with the steps of each that pause
Members = Sequence[tuple[_Series, Counts]]


class _Recurring(Struct, frozen=True):
    """A recurrence in the series of some ranks, and the steps that pause."""

    found: Recurrence
    unit_s: float | None  # of its distances; None if they are in steps
    steps: Mapping[int, Counts]  # by the place of the series


def jitters(launches: Launches) -> list[Jitter]:
    known = [pair for pair in launches if pair[1].own() is not None]
    for with_data in (True, False) if known else (True,):
        series = [_series(*pair, with_data) for pair in known or _first_ranks(launches)]
        found = _recurring(series)
        if found:
            return [_jitter(series, one, is_known=bool(known)) for one in found]
    return []


def _first_ranks(launches: Launches) -> Launches:
    first: dict[Path, tuple[RankId, RankLaunch]] = {}
    for id, launch in launches:
        if len(launch.ms):
            first.setdefault(launch.record.path, (id, launch))
    return list(first.values())


def _series(id: RankId, launch: RankLaunch, with_data: bool) -> _Series:
    work, data = launch.own() or (launch.ms, 0.0 * launch.ms)
    times = work + data if with_data else work
    return _Series(id, launch, times, pauses_of(times))


def _recurring(series: Sequence[_Series]) -> list[_Recurring]:
    in_steps = _recurring_at([np.arange(len(each.times)) for each in series], series)
    if in_steps and in_steps[0].found.spread == 0:
        return in_steps
    paused = [np.median(each.launch.ms) for each in series if len(each.pauses.at)]
    unit_s = float(np.median(paused)) / 1e3 if paused else 0.0
    if not unit_s > 0:
        return in_steps
    # the pauses by the time at which their steps begin
    places = []
    for each in series:
        ms = each.launch.ms
        places.append(((np.cumsum(ms) - ms) / 1e3 / unit_s).astype(int))
    in_time = _recurring_at(places, series, unit_s)
    if not in_time or (in_steps and in_time[0].found.log_p > SURER * in_steps[0].found.log_p):
        return in_steps
    return in_time


def _recurring_at(
    places: Sequence[Counts], series: Sequence[_Series], unit_s: float | None = None
) -> list[_Recurring]:
    """The recurrences of the pauses at the places of their steps, which ascend in each series."""
    pauses = []
    for each, place in zip(series, places, strict=True):
        pauses.append(Pauses(np.unique(place[each.pauses.at]), int(place[-1]) + 1))
    found = []
    for one in recurrences(pauses):
        steps = {}
        for k, marks in one.of.items():
            at = series[k].pauses.at
            steps[k] = at[np.isin(places[k][at], pauses[k].at[marks])]
        found.append(_Recurring(one, unit_s, steps))
    return found


def _jitter(series: Sequence[_Series], one: _Recurring, *, is_known: bool) -> Jitter:
    members = [(series[k], at) for k, at in one.steps.items()]
    step_s = float(np.mean(np.concatenate([each.launch.ms for each, _ in members]))) / 1e3
    unit = 1.0 if one.unit_s is None else one.unit_s / step_s
    excess = np.concatenate([excess_of(each.times)[at] for each, at in members])
    return Jitter(
        steps=one.found.period * unit,
        spread=one.found.spread * unit,
        seconds=one.found.period * unit * step_s,
        by_time=one.unit_s is not None,
        ms=float(np.median(excess)),
        parts=_parts(members) if is_known else (),
        ids=tuple(dict.fromkeys(each.id for each, _ in members)) if is_known else (),
        share=_share(series, one),
        count=len(excess),
    )


def _parts(members: Members) -> tuple[str, ...]:
    """The part of a step that the pauses make longer, or those, most first; empty if not known."""
    longer: dict[str, float] = defaultdict(float)
    for each, at in members:
        for name, times in each.launch.parts.items():
            if name != EXPOSED:
                longer[name] += max(float(excess_of(times)[at].sum()), 0.0)
    names = sorted(longer, key=lambda name: -longer[name])
    whole = sum(longer.values())
    if names and longer[names[0]] >= MOSTLY * whole:
        return tuple(names[:1])
    return tuple(name for name in names if longer[name] >= PARTLY * whole)


def _share(series: Sequence[_Series], one: _Recurring) -> float:
    lost = whole = 0.0
    places_of = grouped((each.launch.record.path, k) for k, each in enumerate(series))
    for places in places_of.values():
        if one.steps.keys().isdisjoint(places):
            continue
        length = min(len(series[k].times) for k in places)
        times = np.array([series[k].times[:length] for k in places])
        usual = times.copy()
        for row, k in enumerate(places):
            at = one.steps.get(k, ())
            if len(at):
                usual[row, at] -= np.maximum(excess_of(times[row])[at], 0.0)
        lost += float((times.max(axis=0) - usual.max(axis=0)).sum())
        whole += float(series[places[0]].launch.ms.sum())
    return lost / whole if whole else 0.0
