"""Findings about the nodes of runs: those that could not be used, lack something, or differ."""

from collections.abc import Iterator, Sequence

from ...results.node_state import NodeState, differences
from .finder import Found, Measurements, finding


# Nothing was measured there, or only until it was lost.
@finding("error", "{problem}", of_runs=True)
def unused_node(measured: Measurements) -> Iterator[Found]:
    for nodes in _by_run(measured):
        for node in nodes:
            if node.problem:
                evidence = {"status": str(node.status), "log": list(node.log)}
                yield Found(node.name, evidence, {"problem": node.problem})


@finding("warning", "{warning}", of_runs=True)
def lacking_node(measured: Measurements) -> Iterator[Found]:
    """Nodes that lack what some benchmarks need, such as shared memory or a compiler."""
    for nodes in _by_run(measured):
        for node in nodes:
            for warning in node.shown_warnings:
                yield Found(node.name, words={"warning": warning})


@finding("warning", "{difference}", "make the nodes alike", of_runs=True)
def different_nodes(measured: Measurements) -> Iterator[Found]:
    """Nodes whose driver, GPUs, software, environment or clock differ from those of most nodes."""
    for nodes in _by_run(measured):
        for each in differences(nodes):
            evidence = {"key": each.key, "values": dict(each.values)}
            yield Found(", ".join(each.nodes), evidence, {"difference": each.sentence})


def _by_run(measured: Measurements) -> list[Sequence[NodeState]]:
    return [list(run.state.nodes.values()) for run in measured.runs if run.state]
