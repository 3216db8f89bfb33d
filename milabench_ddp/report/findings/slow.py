"""Findings about what is slower than its peers: devices, ranks, links, and nodes of such."""

import math
from collections import defaultdict
from collections.abc import Set

from ..finding import Finding, Findings
from ..links import Link, LinkKind, kinds_of
from ..model import Row
from ..once import once
from ..process import counted, series_of_devices
from ..ranks.rank_launch import WHOLE, LaunchKey, blocks_of, undisturbed
from ..ranks.rank_summary import RankId
from ..ranks.stragglers import FEWEST_STEPS, Blocks, slower_places
from ..statistics.values import mean, median
from .slow_ranks import OF_OTHERS, count_of, findings_of_ranks, nodes_of, reference_of


def slow_nodes(row: Row) -> Findings:
    """Nodes most of whose ranks, devices or links are slow, where those of the others are not."""
    yield from _slow_devices(row, of_nodes=True)
    yield from findings_of_ranks(row, of_nodes=True)
    for kind in kinds_of(row):
        for node in _nodes_of_links(kind):
            links = [link for link in kind.slow if node in link.nodes]
            where, ways = kind.name
            gb_s = median(link.gb_s for link in links)
            lower = 1 - gb_s / kind.typical
            sentence = (
                f"{node}: all its {len(links)} links {where} are slow: {gb_s:.4g} GB/s ({ways}), "
                f"{lower:.0%} less than the median ({kind.typical:.4g})"
            )
            evidence = {"gb_s": gb_s, "median_gb_s": kind.typical, "links": len(links)}
            yield Finding(sentence, place=node, evidence=evidence)


def slow_devices(row: Row) -> Findings:
    """The slowest of several devices, if it is slower than the others by more than chance."""
    yield from _slow_devices(row, of_nodes=False)


def _nodes_of_links(kind: LinkKind) -> list[str]:
    """The nodes all of whose links to other nodes are slow, two at least."""
    links: dict[str, list[Link]] = defaultdict(list)
    for link in kind.links:
        for node in set(link.nodes):
            links[node].append(link)
    slow = {id(link) for link in kind.slow}
    nodes = []
    for node, own in sorted(links.items()):
        is_between = all(len(set(link.nodes)) > 1 for link in own)
        if is_between and len(own) > 1 and all(id(link) in slow for link in own):
            nodes.append(node)
    return nodes if len(nodes) < len(links) else []


def _slow_devices(row: Row, *, of_nodes: bool) -> Findings:
    series = series_of_devices(counted(row.processes))
    if len(series) < 2 or math.isnan(row.perf):
        return
    slow = _slow_of_devices(row)
    rates = sorted((mean(each.mean for each in found), id) for id, found in series.items())
    nodes = nodes_of(sorted(slow), series)
    if of_nodes:
        for node, ids in nodes.items():
            own = median(rate for rate, id in rates if id in ids)
            typical = median(rate for rate, id in rates if id.node not in nodes)
            share = f"{len(ids)} of its {count_of(series, node)} devices"
            yield _slow_place(row, node, own, typical, f"{OF_OTHERS}, with {share}")
        return
    rate, slowest = rates[0]
    if slowest in slow and slowest.node not in nodes:
        typical = median(other for other, _ in rates[1:])
        reference = reference_of([id for _, id in rates], slowest)
        yield _slow_place(row, slowest.label, rate, typical, reference)


def _slow_place(row: Row, place: str, rate: float, typical: float, reference: str) -> Finding:
    slower = 1 - rate / typical
    against = f"{rate:.5g} against {typical:.5g} {row.unit}".rstrip()
    sentence = f"{place} is {slower:.1%} slower than {reference} ({against})"
    evidence = {"rate": rate, "median": typical, "slower": slower}
    return Finding(sentence, place=place, evidence=evidence)


@once
def _slow_of_devices(row: Row) -> Set[RankId]:
    return slower_places(_blocks_of_devices(row))


def _blocks_of_devices(row: Row) -> dict[RankId, Blocks]:
    from ...numerics import np

    found: dict[RankId, dict[LaunchKey, dict[str, list[float]]]] = defaultdict(dict)
    for process in counted(row.processes):
        if process.series is None or len(process.series.rates) < FEWEST_STEPS:
            continue
        for id in series_of_devices([process]):
            rates = np.array(process.series.rates)
            if (rates > 0).all():
                levels = [undisturbed(blocks) for blocks in blocks_of(1 / rates)]
                found[id][process.launch] = {WHOLE: np.concatenate(levels).tolist()}
    return dict(found)


def slow_links(row: Row) -> Findings:
    """Links that are much slower than most of their kind."""
    for kind in kinds_of(row):
        nodes = set(_nodes_of_links(kind))
        for link in kind.slow:
            if not nodes.isdisjoint(link.nodes):
                continue  # a finding about its node
            where, ways = kind.name
            lower = 1 - link.gb_s / kind.typical
            sentence = (
                f"ranks {link.label} exchange {link.gb_s:.4g} GB/s ({ways}), {lower:.0%} less than "
                f"the median of the pairs {where} ({kind.typical:.4g})"
            )
            evidence = {"gb_s": link.gb_s, "median_gb_s": kind.typical, "nodes": list(link.nodes)}
            yield Finding(sentence, place=link.label, evidence=evidence)
