"""Findings about the nodes of runs: those that could not be used, lack something, or differ."""

from ...results.node_state import differences
from .finder import Finds, Found, Measurements, finding


# Nothing was measured there, or only until it was lost.
@finding("error", "{problem}", of_runs=True)
def unused_node(measured: Measurements) -> Finds:
    for run in measured.states:
        for node in run.nodes.values():
            if node.problem:
                evidence = {"status": str(node.status), "log": list(node.log)}
                yield Found(node.name, evidence, {"problem": node.problem})


@finding("warning", "{warning}", of_runs=True)
def lacking_node(measured: Measurements) -> Finds:
    """Nodes that lack what some benchmarks need, such as shared memory or a compiler."""
    for run in measured.states:
        for node in run.nodes.values():
            for warning in node.shown_warnings:
                yield Found(node.name, words={"warning": warning})


@finding("warning", "{difference}", "make the nodes alike", of_runs=True)
def different_nodes(measured: Measurements) -> Finds:
    """Nodes whose driver, GPUs, software, environment or clock differ from those of most nodes."""
    for run in measured.states:
        for each in differences(run.nodes.values()):
            evidence = {"key": each.key, "values": dict(each.values)}
            yield Found(", ".join(each.nodes), evidence, {"difference": each.sentence})
