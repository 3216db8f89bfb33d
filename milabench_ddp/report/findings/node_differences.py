"""Findings about the nodes of runs: those that could not be used, lack something, or differ."""

from ...config.audited import audited
from ...hostlist import hostlist
from ...results.node_state import NodeStatus, differences, problems, said_together
from ..suspects import suspects_of
from .finder import Finds, Found, Measurements, finding

_THEN = {NodeStatus.JOINED: "; then it took part again", NodeStatus.LEFT_OUT: "; it was left out"}


# Nothing was measured there, or only until it was lost.
@finding("error", "{problem}", of_runs=True, fails=True)
def unused_node(measured: Measurements) -> Finds:
    for run in measured.states:
        for said in problems(run.nodes.values()):
            first = said.first
            evidence = {"status": first.status, "nodes": said.nodes, "log": first.log}
            words = {"problem": said.sentence}
            yield Found(hostlist(said.nodes), evidence, words, nodes=tuple(said.nodes))


@finding("warning", "{loss}", of_runs=True, fails=True)
def lost_before(measured: Measurements) -> Finds:
    """Nodes that were lost or did not start, in an earlier attempt or before they were back."""
    for run in measured.states:
        lost = []
        for node in run.nodes.values():
            then = _THEN.get(node.status, " (before)")
            lost += [(node, loss + then) for loss in node.losses]
        for said in said_together(lost):
            evidence = {"status": said.first.status, "nodes": said.nodes}
            words = {"loss": said.sentence}
            yield Found(hostlist(said.nodes), evidence, words, nodes=tuple(said.nodes))


@finding("warning", "{warning}", of_runs=True)
def lacking_node(measured: Measurements) -> Finds:
    """Nodes that lack what some benchmarks need, such as shared memory or a compiler."""
    for run in measured.states:
        nodes = run.nodes.values()
        warned = ((node, f": {warning}") for node in nodes for warning in node.warnings)
        for said in said_together(warned):
            words = {"warning": said.sentence}
            yield Found(hostlist(said.nodes), words=words, nodes=tuple(said.nodes))


@finding("warning", "{difference}", "make the nodes alike", of_runs=True)
def different_nodes(measured: Measurements) -> Finds:
    """Nodes whose GPUs, software, environment, settings or clock differ from those of others."""
    for run in measured.runs:
        suspects = suspects_of(run)
        told = {(each.name, each.node) for each in suspects if each.is_bad or each.is_broken}
        for each in differences(run.state.nodes.values() if run.state else ()):
            if all((each.setting, node) in told for node in each.nodes):
                continue  # they have findings of their own
            evidence = {"key": each.key, "values": dict(each.values)}
            words = {"difference": each.sentence}
            advice = audited()[each.setting].advice if each.setting else ""
            nodes = tuple(each.nodes)
            yield Found(hostlist(nodes), evidence, words, nodes=nodes, advice=advice)
