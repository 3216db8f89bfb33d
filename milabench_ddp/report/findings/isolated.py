"""Findings about nodes by which a benchmark over several of them failed, as probes of it showed."""

from ...errors import count_text
from ...hostlist import shown_nodes
from ..isolations import isolations
from ..model import Row
from .finder import Finds, Found, finding

_EACH = "it fails on each of its nodes alone: no node is at fault"
_ANY = "it fails on any {from} of its nodes; fewer were not tried: no node is at fault"
_TOGETHER = (
    "{place} {does} only together: in {bad} of {all} probes, and each does well with other nodes"
)


@finding(
    "error",
    "{place} {does} in {bad} of {all} probes with other nodes, which do well without it",
    "--table isolation has all probes",
    fails=True,
    action="isolate",
)
def isolated(row: Row) -> Finds:
    """The nodes by which it fails, or is slow: by themselves, or only together."""
    for record in isolations(row):
        for each in record.bad:
            does = "failed" if record.whole_fails else "was slow"
            words = {"does": does, "all": each.bad + each.good}
            sentence = _TOGETHER if len(each.nodes) > 1 else ""
            evidence = {"bad": each.bad, "good": each.good}
            place = shown_nodes(each.nodes)
            yield Found(place, evidence, words, nodes=each.nodes, sentence=sentence)


@finding(
    "error",
    "it fails on any {from} of its nodes, but not on fewer: no node is at fault",
    "look for what grows with the nodes: memory, connections, files, time-outs",
)
def fails_by_number(row: Row) -> Finds:
    """From how many nodes on it fails, whichever they are."""
    for record in isolations(row):
        if record.scale is not None:
            fewest = min((probe.size for probe in record.probes), default=record.scale)
            sentence = _EACH if record.scale == 1 else _ANY if record.scale <= fewest else ""
            yield Found(evidence={"from": record.scale}, sentence=sentence)


@finding("warning", "{why}", "--table isolation has all probes")
def not_isolated(row: Row) -> Finds:
    """A failure on several nodes that probes did not explain."""
    for record in isolations(row):
        probes = count_text(len(record.probes), "probe")
        if record.is_open or record.why_stopped:
            why = record.why_stopped or "it has not ended"
            does = "fails" if record.whole_fails else "is slow"
            said = f"the nodes by which it {does} are not all known after {probes}: {why}"
        elif record.is_unexplained:
            said = "all its nodes fail together, but neither one, nor two, nor any number of them"
        elif record.whole_fails and not record.bad and record.scale is None:
            said = f"its failure was not repeated in {probes}"
        else:
            continue
        yield Found(words={"why": said})
