"""What each rank of a benchmark measured, or each device where it runs alone, over all launches."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..results.rank import Rank
from .member import Member
from .model import NAN
from .own import own_parts
from .place import Place, place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .measure import Process

    Floats = NDArray[np.float64]


def members(processes: Sequence["Process"]) -> tuple[Member, ...]:
    """The ranks or devices of a benchmark, in the order of nodes, jobs and ranks."""
    found: dict[Place, list[tuple[Process, Rank]]] = {}
    for process in processes:
        for number, rank in process.record.ranks.items():
            found.setdefault(place(process.record, number), []).append((process, rank))
    return tuple(_member(at, found[at]) for at in sorted(found, key=_order))


def _order(at: Place) -> tuple[int, int, str]:
    return at.job, at.rank, at.node


def _member(at: Place, launches: Sequence[tuple["Process", Rank]]) -> Member:
    import numpy as np

    parts = [_steady(process, rank) for process, rank in launches]
    times = np.sort(parts[0] if len(parts) == 1 else np.concatenate(parts))
    ranks = [rank for _, rank in launches]
    all_steps = sum(len(rank.ms) for rank in ranks)
    part_ms = _mean_parts([rank.part_ms for rank in ranks])
    process = launches[-1][0]
    own, own_error = _own(process, part_ms, times, all_steps)
    shares = [rank.shares for rank in ranks if rank.shares]
    return Member(
        at,
        len(times),
        _quantile(times, 0.5),
        _quantile(times, 0.95),
        math.fsum(rank.waited for rank in ranks) / all_steps if all_steps else NAN,
        {name: _mean([of.get(name, 0.0) for of in shares]) for name in _names(shares)},
        part_ms,
        own,
        own_error,
        _largest(rank.allocated for rank in ranks),
        _largest(rank.reserved for rank in ranks),
    )


def _steady(process: "Process", rank: Rank) -> "Floats":
    """The steps of the steady state: all ranks of a process reach it together."""
    import numpy as np

    times = np.asarray(rank.ms, dtype=np.float64)
    skipped = process.unsteady_steps
    return times[skipped:] if skipped < len(times) else times


def _own(
    process: "Process", part_ms: Mapping[str, tuple[float, float]], times: "Floats", steps: int
) -> tuple[Mapping[str, float], float]:
    """A member's own work by its parts, and the standard error of the sum."""
    root = math.sqrt(max(steps, 1))
    if process.record.config.get("device") is not None:
        error = float(times.std()) / root if steps else NAN
        return _alone(part_ms, _quantile(times, 0.5)), error
    names = own_parts(process.record.facts.get("model", {}).get("mode"), part_ms)
    deviation = math.sqrt(math.fsum(part_ms[name][1] ** 2 for name in names))
    return {name: part_ms[name][0] for name in names}, deviation / root


def _alone(part_ms: Mapping[str, tuple[float, float]], step: float) -> Mapping[str, float]:
    """The whole median step, divided as the mean one is: a pause is nobody's work."""
    whole = math.fsum(mean for mean, _ in part_ms.values())
    if not whole > 0:
        return {} if math.isnan(step) else {"step": step}
    scale = 1.0 if math.isnan(step) else step / whole
    return {name: scale * mean for name, (mean, _) in part_ms.items()}


def _mean_parts(
    launches: Sequence[Mapping[str, tuple[float, float]]],
) -> Mapping[str, tuple[float, float]]:
    """The mean over launches of each part's mean and deviation."""
    return {
        name: (_mean(pairs[0]), _mean(pairs[1]))
        for name in _names(launches)
        for pairs in [tuple(zip(*(of[name] for of in launches if name in of), strict=True))]
    }


def _names(mappings: Sequence[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _largest(values: Iterable[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=NAN)


def _quantile(ordered: "Floats", share: float) -> float:
    """NumPy's default, of values that are in order already: linear between the two nearest."""
    if not len(ordered):
        return NAN
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (at - below))
