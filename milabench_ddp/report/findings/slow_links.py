"""Findings about links between ranks."""

from ...hostlist import natural
from ..grouping import grouped
from ..links import LinkKind, kinds_of
from ..model import Row
from .finder import Finds, Found, finding


@finding(
    "warning",
    "ranks {place} exchange {gb_s:.4g} GB/s ({ways}), {lower:.0%} less than the median of the "
    "pairs {where} ({median_gb_s:.4g})",
    "look at its cable, its switch and `nvidia-smi nvlink`",
    section="more",
    is_traced=True,
    looks_for="slow links",
    among=lambda row: sum(len(kind.links) for kind in kinds_of(row)),
)
def slow_link(row: Row) -> Finds:
    """Links that are much slower than most of their kind; those of slow nodes are not named."""
    for kind in kinds_of(row):
        nodes = nodes_of_links(kind)
        for link in kind.slow:
            if not any(node in nodes for node in link.nodes):
                speeds = {"gb_s": link.gb_s, "median_gb_s": kind.typical}
                evidence = speeds | {"nodes": list(link.nodes)}
                yield Found(link.label, evidence, words_of_link(kind, link.gb_s))


def words_of_link(kind: LinkKind, gb_s: float) -> dict[str, object]:
    where, ways = kind.name
    return {"where": where, "ways": ways, "lower": 1 - gb_s / kind.typical}


def nodes_of_links(kind: LinkKind) -> list[str]:
    """The nodes all of whose links to other nodes are slow, two at least."""
    links = grouped((node, link) for link in kind.links for node in set(link.nodes))
    slow = set(kind.slow)
    nodes = []
    for node, own in sorted(links.items(), key=lambda item: natural(item[0])):
        are_slow = all(link in slow and len(set(link.nodes)) > 1 for link in own)
        if are_slow and len(own) > 1:
            nodes.append(node)
    return nodes if len(nodes) < len(links) else []
