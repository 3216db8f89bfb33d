"""Findings about what is slower than its peers: devices, ranks, links."""

import math
from collections import defaultdict
from collections.abc import Sequence

from ..links import kinds_of
from ..model import Finding, Findings, Row
from ..process import counted, series_of_devices
from ..ranks.rank_launch import WHOLE, LaunchKey, blocks_of, undisturbed
from ..ranks.rank_summary import RankId, RankSummary, peers
from ..ranks.stragglers import FEWEST_STEPS, Blocks, slower_places, slowest_part, stragglers
from ..statistics.values import mean, median
from .what_if import faster

OF_OTHERS = "the median of the others"
OF_STAGE = "the median of the others with its stages"


def slow_devices(row: Row) -> Findings:
    """The slowest of several devices, if it is slower than the others by more than chance."""
    series = series_of_devices(counted(row.processes))
    if len(series) < 2 or math.isnan(row.perf):
        return
    blocks = _blocks_of_devices(row)
    slow = slower_places(blocks)
    rates = sorted((mean(each.mean for each in found), id) for id, found in series.items())
    rate, slowest = rates[0]
    if slowest not in slow:
        return
    typical = median(other for other, _ in rates[1:])
    slower = 1 - rate / typical
    against = f"{rate:.5g} against {typical:.5g} {row.unit}".rstrip()
    reference = _reference([id for _, id in rates], slowest)
    sentence = f"{slowest.label} is {slower:.1%} slower than {reference} ({against})"
    evidence = {"rate": rate, "median": typical, "slower": slower}
    yield Finding(sentence, place=slowest.label, evidence=evidence)


def _blocks_of_devices(row: Row) -> dict[RankId, Blocks]:
    """The time of a unit of work in each block of observations, by device."""
    import numpy as np

    found: dict[RankId, dict[LaunchKey, dict[str, list[float]]]] = defaultdict(dict)
    for process in counted(row.processes):
        if process.series is None or len(process.series.rates) < FEWEST_STEPS:
            continue
        for id in series_of_devices([process]):
            rates = np.array(process.series.rates)
            if (rates > 0).all():
                times = [float(undisturbed(block)) for block in blocks_of(1 / rates)]
                found[id][process.launch] = {WHOLE: times}
    return dict(found)


def slow_ranks(row: Row) -> Findings:
    """The ranks that the other ranks of their job wait for; in pipelines, for each stage."""
    if any(process.record.device is not None for process in row.processes):
        return
    for ranks in peers(row.ranks):
        yield from _slow_among(ranks, row)


def _slow_among(ranks: Sequence[RankSummary], row: Row) -> Findings:
    found, typical = stragglers(ranks)
    if not found:
        return
    first, *others = found
    local_ms = first.local_ms
    slower = local_ms / typical - 1
    part = slowest_part(first, ranks)
    others_median = OF_STAGE if first.stages else OF_OTHERS
    reference = _reference([rank.id for rank in ranks if rank.local], first.id, others_median)
    waits = "they wait" if reference == others_median else f"{reference} waits"
    sentence = (
        f"{first.id.label} is {slower:.1%} slower than {reference} in its own work "
        f"({local_ms:.5g} against {typical:.5g} ms a step, mostly {part}): {waits} for it"
    )
    if others:
        sentence += f"; and for {len(others)} more"
        nodes = {rank.id.node for rank in others}
        if len(nodes) == 1 and "" not in nodes:
            sentence += f", all of {nodes.pop()}"
    evidence = {"local_ms": local_ms, "median": typical, "slower": slower, "part": part}
    slow = {rank.id for rank in found}
    gain = faster(row, lambda times: times.steps(slow))
    if gain is not None:
        which = "they were as fast" if others else "it were as fast"
        sentence += f"; if {which}, steps would be {gain.text('.1%')} faster"
        evidence |= {"faster": float(gain), "faster_error": gain.error}
    yield Finding(sentence, place=first.id.label, evidence=evidence)


def _reference(ids: Sequence[RankId], slow: RankId, others_median: str = OF_OTHERS) -> str:
    """What a rank is compared with; of two, it is the other one."""
    others = [id for id in ids if id != slow]
    return others[0].label if len(others) == 1 else others_median


def slow_links(row: Row) -> Findings:
    """Links that are much slower than most of their kind."""
    for kind in kinds_of(row):
        for link in kind.slow:
            where, ways = kind.name
            lower = 1 - link.gb_s / kind.typical
            sentence = (
                f"ranks {link.label} exchange {link.gb_s:.4g} GB/s ({ways}), {lower:.0%} less than "
                f"the median of the pairs {where} ({kind.typical:.4g})"
            )
            evidence = {"gb_s": link.gb_s, "median_gb_s": kind.typical, "nodes": list(link.nodes)}
            yield Finding(sentence, place=link.label, evidence=evidence)
