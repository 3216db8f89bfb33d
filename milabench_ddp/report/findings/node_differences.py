"""Findings about the nodes of runs: those that could not be used, lack something, or differ."""

from collections.abc import Sequence

from ...results.node_state import NodeState, differences
from ...results.records import Run
from ..finding import Finding, Findings
from .finder import Measurements


def unused_nodes(measured: Measurements) -> Findings:
    """Nodes that did not start, or were lost."""
    for run in measured.runs:
        for node in _nodes(run):
            if node.problem:
                evidence = {"status": str(node.status), "log": list(node.log)}
                yield Finding(node.problem, place=node.name, evidence=evidence)


def lacking_nodes(measured: Measurements) -> Findings:
    """Nodes that lack what some benchmarks need, such as shared memory or a compiler."""
    for run in measured.runs:
        for node in _nodes(run):
            for warning in node.shown_warnings:
                yield Finding(warning, place=node.name)


def different_nodes(measured: Measurements) -> Findings:
    """Nodes whose driver, GPUs, software, environment or clock differ from those of most nodes."""
    for run in measured.runs:
        for each in differences(_nodes(run)):
            place = ", ".join(each.nodes)
            evidence = {"key": each.key, "values": dict(each.values)}
            yield Finding(each.sentence, place=place, evidence=evidence)


def _nodes(run: Run) -> Sequence[NodeState]:
    return list(run.state.nodes.values()) if run.state else []
