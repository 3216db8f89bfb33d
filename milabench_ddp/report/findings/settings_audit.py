"""Findings about the settings of nodes, and about bandwidths that are low for their links."""

from ...hostlist import hostlist, shown_nodes
from ..bounds import bounds_of
from ..model import Row
from ..suspects import alike, suspects_of
from .finder import Finds, Found, Measurements, finding

SLOWER = {
    "transfer": "copies to and from its GPUs",
    "p2p": "traffic between its GPUs",
    "network": "traffic to other nodes",
    "memory": "memory",
    "cpu": "the work of the host",
    "launch": "launches of kernels",
    "compute": "computation",
}
SENTENCE = "{what} is {shown}[ on {place}], which can slow down {costs}"


def _told(measured: Measurements, state: str) -> Finds:
    for run in measured.runs:  # only a validation reads settings
        fitting = (each for each in suspects_of(run) if each.state == state)
        for suspect, nodes in alike(fitting):
            setting = suspect.setting
            costs = ", ".join(SLOWER[cost] for cost in setting.costs)
            yield Found(
                shown_nodes(nodes),
                evidence={
                    "setting": suspect.name,
                    "value": suspect.shown,
                    "source": setting.source,
                    "nodes": list(nodes),
                },
                words={"what": setting.what, "shown": suspect.shown, "costs": costs},
                nodes=nodes,
                advice=setting.advice,
                action=setting.action if state == "broken" else "",
            )


@finding("warning", SENTENCE, fails=True, looks_for="broken parts of nodes")
def degraded_node(measured: Measurements) -> Finds:
    """Links, ports and memory that a device or a node lacks, and its peers have."""
    yield from _told(measured, "broken")


@finding("warning", SENTENCE, looks_for="settings of nodes")
def bad_setting(measured: Measurements) -> Finds:
    """Settings of a node that make it slower."""
    yield from _told(measured, "bad")


@finding(
    "warning",
    "{what}[, {place}]: {gb_s:.4g} GB/s, {share:.0%} of the {limit:.4g} that its links allow "
    "({links})",
    "compare it with that of other nodes; `--table settings` has what is set there",
    section="more",
    looks_for="bandwidths that are low for their links",
    among=lambda row: len(list(bounds_of(row))) if row.validates else 0,
)
def below_bound(row: Row) -> Finds:
    """Bandwidths that are a smaller share of what the links allow than on healthy machines."""
    for each in bounds_of(row) if row.validates else ():
        if each.is_low:
            evidence = {"gb_s": each.gb_s, "share": each.share, "limit": each.limit.gb_s}
            words = {"what": each.what, "links": each.limit.links}
            place = ", ".join(filter(None, (hostlist(filter(None, each.nodes)), each.place)))
            yield Found(place, evidence, words, nodes=each.nodes)
