"""Findings about the nodes of runs: those that could not be used, lack something, or differ."""

from collections.abc import Iterable

from ...config.audited import audited
from ...hostlist import hostlist
from ...results.node_state import NodesSaid, NodeStatus, differences, problems, said_together
from ..suspects import suspects_of
from .finder import Finds, Found, Measurements, finding

_THEN = {NodeStatus.JOINED: "; then it took part again", NodeStatus.LEFT_OUT: "; it was left out"}


def _found(said: Iterable[NodesSaid]) -> Finds:
    for each in said:
        yield Found(
            hostlist(each.nodes),
            evidence={"status": each.first.status, "nodes": each.nodes, "log": each.first.log},
            words={"said": each.sentence},
            nodes=each.nodes,
        )


# Nothing was measured there, or only until it was lost.
@finding("error", "{said}", fails=True)
def unused_node(measured: Measurements) -> Finds:
    for run in measured.states:
        yield from _found(problems(run.nodes.values()))


@finding("warning", "{said}", fails=True)
def lost_before(measured: Measurements) -> Finds:
    """Nodes that were lost or did not start, in an earlier attempt or before they were back."""
    for run in measured.states:
        lost = [(node, loss) for node in run.nodes.values() for loss in node.losses]
        yield from _found(
            said_together((node, loss + _THEN.get(node.status, " (before)")) for node, loss in lost)
        )


@finding("warning", "{said}")
def lacking_node(measured: Measurements) -> Finds:
    """Nodes that lack what some benchmarks need, such as shared memory or a compiler."""
    for run in measured.states:
        nodes = run.nodes.values()
        warned = ((node, f": {warning}") for node in nodes for warning in node.warnings)
        yield from _found(said_together(warned))


@finding("warning", "{difference}", "make the nodes alike")
def different_nodes(measured: Measurements) -> Finds:
    """Nodes whose GPUs, software, environment, settings or clock differ from those of others."""
    for run in measured.runs:
        told = {(each.name, each.node) for each in suspects_of(run) if each.state != "differs"}
        for each in differences(run.state.nodes.values() if run.state else ()):
            if all((each.setting, node) in told for node in each.nodes):
                continue  # they have findings of their own
            evidence = {"key": each.key, "values": dict(each.values)}
            words = {"difference": each.sentence}
            advice = audited()[each.setting].advice if each.setting else ""
            yield Found(hostlist(each.nodes), evidence, words, nodes=each.nodes, advice=advice)
