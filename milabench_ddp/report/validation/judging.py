"""Which nodes of a validation pass: a fold over the findings of its report.

A node fails by each finding that names it and says so (``fails``). It passes if every benchmark
that measured it found it as fast as its peers. Of all others it cannot be told: what could not be
measured, or compared, is no fault.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import compress

from msgspec.structs import replace

from ...config.schema import spans_nodes
from ...config.xids import ACTIONS
from ...errors import contained
from ...events import Outcome
from ...grouping import grouped
from ...hostlist import natural
from ..finding import Finding, Severity
from ..findings.finder import Measurements
from ..model import Row, Rows
from ..node_verdict import NodeVerdict, Word
from ..pooling import told_text
from .peers import BesidePeers, judged

NOT_MEASURED = "no benchmark measured it by itself"


def verdicts_of(
    measured: Measurements,
    findings: Sequence[Finding],
    judge: Callable[[Row], Sequence[BesidePeers]] = judged,
) -> tuple[NodeVerdict, ...]:
    """A verdict for each node, in their natural order; none where nothing validates."""
    rows = [row for row in measured.rows if row.validates]
    nodes = _nodes(measured, rows)
    # what is the same on more than half of the nodes is no fault of theirs
    blames = [each.fails and len({*each.nodes}) <= max(1, len(nodes) // 2) for each in findings]
    against = grouped((node, each) for each in compress(findings, blames) for node in each.nodes)
    others = [each for each, blamed in zip(findings, blames, strict=True) if not blamed]
    unclear = grouped(_unclear(measured, rows, others, {*against}, nodes))
    told: list[tuple[str, tuple[str, BesidePeers]]] = []
    for row in rows:
        with contained(lambda _: None):  # the finding about it fails, too, and says so
            told += [(each.node, (row.name, each)) for each in judge(row)]
    beside = grouped(told)
    made = []
    for node in nodes:
        known = beside.get(node, [])
        unsure = list(unclear.get(node, ()))
        unsure += [f"{name}: {it.why}" for name, it in known if it.word is Word.CANNOT_TELL]
        if not known:
            unsure.append(NOT_MEASURED)
        mine = against.get(node, [])
        word = Word.FAIL if mine else Word.CANNOT_TELL if unsure else Word.PASS
        reasons = tuple(dict.fromkeys([each.sentence for each in mine] or unsure))
        actions = [each.action for each in mine if each.action in ACTIONS]
        action = min(actions, key=ACTIONS.index, default="")
        made.append(_with_numbers(NodeVerdict(node, word, reasons, action), known))
    hosts = (told_text(run.meta, "os", "nodename") for run in measured.runs)
    host = next(filter(None, hosts), "this host")
    return tuple(each if each.node else replace(each, node=host) for each in made)


def _nodes(measured: Measurements, rows: Rows) -> list[str]:
    """Those that take part, or measured something; on a single host the empty name."""
    if not rows:
        return []
    names = {process.record.node for row in rows for process in row.processes}
    names.update(*(state.nodes for state in measured.states))
    return sorted({name for name in names if name} or {""}, key=natural)


def _unclear(
    measured: Measurements,
    rows: Rows,
    findings: Sequence[Finding],
    failing: set[str],
    nodes: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """What was stopped, and errors of which no failing node is the cause, by the nodes of each."""
    where = {row.name: {process.record.node for process in row.processes} for row in rows}
    joint = {row.name for row in rows if spans_nodes(row.config.get("plan"))}
    # where each measures by itself
    broke = {
        row.name: {each.record.node for each in row.processes if each.failed}
        for row in rows
        if row.name not in joint
    }
    for run in measured.runs:
        for name in run.missing.keys() & where.keys():  # of these nodes nothing is known
            words = [tag.split(".") for tag in run.missing[name]]  # a node's name may have dots
            ends = {".".join(each[cut:]) for each in words for cut in range(1, len(each))}
            where[name] |= ends.intersection(nodes)
            broke[name] = broke.get(name, set()) | ends.intersection(nodes)
    for failure in measured.failures:
        if failure.outcome == Outcome.CANCELLED and failure.benchmark in where:
            yield from ((node, f"{failure.benchmark}: {failure.reason}") for node in nodes)
    for each in findings:
        name, own = each.benchmark, where.get(each.benchmark) or {*nodes}
        is_ours = name in where or not name
        if each.severity is not Severity.ERROR or not is_ours or (name in joint and own & failing):
            continue
        concerned = {*each.nodes} or broke.get(name) or own
        yield from ((node, each.sentence) for node in concerned - failing)


def _with_numbers(made: NodeVerdict, known: Sequence[tuple[str, BesidePeers]]) -> NodeVerdict:
    compared = [(name, each) for name, each in known if not math.isnan(each.lower)]
    if not compared:
        return made
    name, it = max(compared, key=lambda pair: pair[1].lower)
    numbers = {key: getattr(it, key) for key in ("place", "value", "unit", "lower", "smallest")}
    return replace(made, benchmark=name, peers=it.median, **numbers)
