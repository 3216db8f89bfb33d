"""Findings about what is slower than its peers: devices, ranks, and nodes of such."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from itertools import groupby
from operator import attrgetter

from ...grouping import grouped
from ...numerics import np
from ..model import Row
from ..once import once
from ..process import series_of_devices
from ..ranks.ledger import LaunchTimes
from ..ranks.rank_launch import WHOLE, LaunchKey, blocks_of, undisturbed
from ..ranks.rank_summary import RankId, labels, peers
from ..ranks.stragglers import (
    FEWEST_STEPS,
    Straggler,
    all_stragglers,
    can_be_judged,
    fewest_steps,
    slower_places,
)
from ..statistics.values import mean, median
from .finder import Finds, Found, Looked, finding
from .what_if import condition, faster, gain_text, launches_of, numbers_of

OF_OTHERS = "the median of the others"
OF_STAGE = "the median of the others with its stages"
SLOW_DEVICE = (
    "{place} is {slower:.1%} slower than {reference} ({rate:.5g} against {median:.5g}[ {unit}])"
)
SLOW_RANK = (
    "{place} is {slower:.1%} slower than {reference} in its own work[ {when}][, with {share}] "
    "({local_ms:.5g} against {median:.5g} ms a step, mostly {part}): {waits} for it"
    "[, and for {others}][; if {which} as fast, steps would be {gain}][{condition}]"
)


@finding(
    "warning",
    SLOW_RANK,
    "look at its GPUs, its cooling, its cores and its network",
    section="ranks",
    costs="slower",
    looks_for="slow devices, slow ranks",
)
def slow_node(row: Row) -> Finds:
    """Nodes most of whose ranks or devices are slow, where those of the others are not."""
    yield from _slow_devices(row, of_nodes=True)
    yield from _slow_ranks(row, of_nodes=True)


def _devices_compared(row: Row) -> Looked:
    count = len(series_of_devices(row.counted))
    fewest = min((each.observed for each in row.counted), default=0)
    if count > 1 and fewest < FEWEST_STEPS:
        return f"fewer than {FEWEST_STEPS} observations"
    return count if count > 1 else 0


@finding(
    "warning",
    SLOW_DEVICE,
    "look at its clocks, heat and neighbours",
    section="ranks",
    is_traced=True,
    costs="slower",
    many="a device is slower than the others in {count} benchmarks: {all}",
    each="{place} {slower:.1%} ({benchmark})",
    looks_for="slow devices",
    among=_devices_compared,
)
def slow_device(row: Row) -> Finds:
    """The slowest of several devices, if it is slower than the others by more than chance."""
    return _slow_devices(row, of_nodes=False)


def _ranks_compared(row: Row) -> Looked:
    """How many ranks could be named as slow; not where each trains alone."""
    if len(row.ranks) < 2 or any(each.record.device is not None for each in row.processes):
        return 0
    if why := row.reported("model").get("waits_unknown"):
        return str(why)
    groups = [[rank for rank in group if rank.blocks] for group in peers(row.ranks)]
    if not any(groups):
        return "no rank tells its own work"
    if all(len(group) < 2 for group in groups):
        return "each rank has other stages of the model"
    judged = sum(len(group) for group in groups if can_be_judged(group))
    return judged or f"fewer than {min(map(fewest_steps, groups))} steps"


@finding(
    "warning",
    SLOW_RANK,
    "look at what it does in that part of a step",
    section="own",
    is_traced=True,
    costs="faster",
    many="a rank is slower than the others in {count} benchmarks: {all}",
    each="{place} {slower:.1%} ({benchmark})",
    looks_for="slow ranks",
    among=_ranks_compared,
)
def slow_rank(row: Row) -> Finds:
    """The ranks that the others of their job wait for: one finding for each part that is slow."""
    return _slow_ranks(row, of_nodes=False)


def _slow_devices(row: Row, *, of_nodes: bool) -> Finds:
    series = series_of_devices(row.counted)
    if len(series) < 2 or math.isnan(row.perf):
        return
    slow = _slower_devices(row)
    rates = {id: mean(each.mean for each in found) for id, found in series.items()}
    nodes = _nodes_of(sorted(slow), series)
    if of_nodes:
        for node, ids in nodes.items():
            own = median(rates[id] for id in ids)
            typical = median(rate for id, rate in rates.items() if id.node not in nodes)
            share = f"{OF_OTHERS}, with {len(ids)} of its {_count_of(series, node)} devices"
            yield _slower(row, node, own, typical, share)
        return
    slowest = min(rates, key=lambda id: (rates[id], id))
    if slowest in slow and slowest.node not in nodes:
        typical = median(rate for id, rate in rates.items() if id != slowest)
        reference = _reference_of(sorted(rates), slowest, OF_OTHERS)
        yield _slower(row, slowest.label, rates[slowest], typical, reference)


def _slower(row: Row, place: str, rate: float, typical: float, reference: str) -> Found:
    return Found(
        place,
        evidence={"rate": rate, "median": typical, "slower": 1 - rate / typical},
        words={"reference": reference, "unit": row.unit},
        sentence=SLOW_DEVICE,
    )


@once
def _slower_devices(row: Row) -> Set[RankId]:
    found: dict[RankId, dict[LaunchKey, Mapping[str, Sequence[float]]]] = defaultdict(dict)
    for process in row.counted:
        if process.series is None or len(process.series.rates) < FEWEST_STEPS:
            continue
        rates = np.array(process.series.rates)
        for id in series_of_devices([process]) if (rates > 0).all() else ():
            levels = [undisturbed(blocks) for blocks in blocks_of(1 / rates)]
            found[id][process.launch] = {WHOLE: np.concatenate(levels).tolist()}
    return slower_places(found)


def _slow_ranks(row: Row, *, of_nodes: bool) -> Finds:
    """The slow ranks of each slow node, or those of no such node; of pipelines, by their stages."""
    if any(process.record.device is not None for process in row.processes):
        return
    groups = _slow_groups(row)
    launches = launches_of(row) if groups else []
    for node, slow, compared in groups:
        if bool(node) is not of_nodes:
            continue
        first, ids = slow[0], [each.rank.id for each in slow]
        reference = _reference_of(compared, ids[0], OF_STAGE if first.rank.stages else OF_OTHERS)
        is_median = reference in (OF_OTHERS, OF_STAGE)
        local_ms = median(each.rank.local_ms for each in slow) if node else first.rank.local_ms
        evidence = {
            "local_ms": local_ms,
            "median": first.typical,
            "slower": local_ms / first.typical - 1,
            "part": first.part,
            "ranks": {each.rank.id.label: each.slower for each in slow},
        }
        words = {
            "reference": reference,
            "waits": "they wait" if is_median else f"{reference} waits",
        }
        if node:
            words["share"] = f"{len(slow)} of its {_count_of(compared, node)} ranks"
        else:
            words["others"] = labels(ids[1:])
        if first.when:  # what it costs depends on how the run goes on
            evidence["when"] = first.when[1:]
        elif launches:
            gain = faster(launches, partial(LaunchTimes.steps, slow=set(ids)))
            evidence |= numbers_of(gain)
            words["which"] = "they were" if len(ids) > 1 else "it were"
            words |= {"gain": gain_text(gain), "condition": condition(launches)}
        yield Found(node or ids[0].label, evidence, words)


@once
def _slow_groups(row: Row) -> list[tuple[str, list[Straggler], list[RankId]]]:
    """Slow ranks that one finding is about: those of a slow node, or in one part of the step.

    With the node, or an empty text, and all that they are compared with.
    """
    found = []
    for ranks in peers(row.ranks):
        compared = [rank.id for rank in ranks if rank.local]
        groups: dict[tuple[str, str, str], list[Straggler]] = defaultdict(list)
        for when, together in groupby(all_stragglers(ranks), key=attrgetter("when")):
            slow = list(together)
            nodes = _nodes_of([each.rank.id for each in slow], compared)
            for each in slow:
                node = each.rank.id.node
                groups[(when, node, "") if node in nodes else (when, "", each.part)].append(each)
        found += [(node, slow, compared) for (_, node, _), slow in groups.items()]
    return found


def _nodes_of(slow: Iterable[RankId], all_ids: Iterable[RankId]) -> dict[str, list[RankId]]:
    """The slow ones of each node that is slow: of it most are, two at least."""
    sizes = Counter(id.node for id in all_ids)
    found = grouped((id.node, id) for id in slow) if len(sizes) > 1 else {}
    return {node: ids for node, ids in found.items() if len(ids) > max(1, sizes[node] / 2)}


def _count_of(ids: Iterable[RankId], node: str) -> int:
    return sum(id.node == node for id in ids)


def _reference_of(ids: Sequence[RankId], slow: RankId, others_median: str) -> str:
    """What a rank is compared with; of two, it is the other one."""
    others = [id for id in ids if id != slow]
    return others[0].label if len(others) == 1 else others_median
