"""Each device and node of a validation beside its peers (``spread`` says when it is a defect).

A device is judged by its rate where it runs alone, else by its own work in a step, which contains
no wait for other ranks. A node is judged by its middle device, and by the rate of a job that is on
it alone. Peers are of the same product, and of the same stages of a pipeline.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...grouping import grouped
from ...numerics import np
from ...results.records import Record, validates
from ..mfu import device_of
from ..model import Row
from ..nearest_row import COMPARED, apart, nearest, told_of
from ..node_verdict import Word
from ..once import once
from ..pooling import told_text
from ..process import records_by_rank, series_of_devices
from ..statistics.batch_means import t_quantile
from ..statistics.interval import Series, pooled_mean, why_no_mean
from ..statistics.values import NAN
from .catalog import earlier_rows
from .spread import Compared, compare_devices, middle

NODE = "the node"
NO_PEERS = "it has no peers, no earlier runs, and no published figure"
EITHER = "of two that differ, either could be wrong"
Reference = Literal["", "peers", "earlier", "published"]
OFF = 0.2  # software, power limits and shapes make as much
UNSEEN = 0.25  # what hides a larger defect tells nothing
FEWEST = 2  # observations: of one, no error is known


class BesidePeers(Struct, frozen=True):
    """A device or a node of a benchmark beside its peers."""

    node: str  # empty on a single host
    place: str  # the device or rank, or ``NODE``
    kind: str  # what it shares with its peers
    unit: str
    value: float  # of a device, or of the middle device of a node
    error: float  # the standard error of its logarithm
    why: str = ""  # it fails, or cannot be told
    run: int = 0  # of this run 0, of earlier ones more
    median: float = NAN  # of its peers, or what it is compared with
    lower: float = NAN  # how far it is below, as a fraction; negative: it is faster
    smallest: float = NAN  # the smallest defect that would have been found with 99 %, as a fraction
    word: Word = Word.CANNOT_TELL
    reference: Reference = ""


@once
def judged(row: Row) -> Sequence[BesidePeers]:
    """The devices, ranks and nodes that this benchmark of a validation measured alone."""
    if not row.validates:
        return ()
    families = _families(row)
    records = chain.from_iterable(run.records for run in row.runs)
    names = {record.name for record in records if validates(record.config)}
    comparisons = len(names) * len(families)
    found: list[BesidePeers] = []
    for key, family in families.items():
        known = [each for each in family if not each.why]
        found += (each for each in family if each.why)
        told = _beside(known, [], comparisons)
        if not told or any(each.word is Word.CANNOT_TELL for each in told):
            beside = _beside(known, _earlier(row, key), comparisons)
            unsure = zip(told, beside, strict=False)
            told = [new if it.word is Word.CANNOT_TELL else it for it, new in unsure] or beside
        if not told:  # a lone node with a job of its own is not told: its devices are
            told = [replace(each, why=NO_PEERS) for each in known if each.place != NODE]
        found += (_beside_published(row, each) for each in told)
    return found


def _earlier(row: Row, family: tuple[str, str]) -> list[BesidePeers]:
    found: list[BesidePeers] = []
    for number, of in enumerate(earlier_rows(row), 1):
        measured = _families(of).get(family, [])
        found += [replace(each, run=number) for each in measured if not each.why]
    return found


def _beside_published(row: Row, each: BesidePeers) -> BesidePeers:
    """A device that nothing else tells of, if others published a figure of the same work."""
    if each.why not in (NO_PEERS, EITHER) or each.place == NODE or each.unit != row.unit:
        return each
    ours = told_of(row)
    theirs = nearest(ours) if "value" in ours else ""
    if isinstance(theirs, str) or any(apart(ours, theirs, name) for name in COMPARED):
        return each
    ratio = each.value / theirs["value"]
    fails = ratio < 1 - OFF
    return replace(
        each,
        median=theirs["value"],
        lower=1 - ratio,
        smallest=1 - (1 - OFF) / max(ratio, 1),
        word=Word.FAIL if fails else Word.PASS,
        why=f"more than software and power limits make ({theirs['source']})" if fails else "",
        reference="published",
    )


def _families(row: Row) -> Mapping[tuple[str, str], list[BesidePeers]]:
    """What is compared with each other."""
    found = [*_devices(row), *_ranks(row), *_nodes(row)]
    return grouped(((each.kind, each.unit + NODE * (each.place == NODE)), each) for each in found)


def _devices(row: Row) -> Iterator[BesidePeers]:
    records = records_by_rank(row.counted)
    for id, series in series_of_devices(row.counted).items():
        yield _measured(records[id], id.name, row.unit, series)


def _nodes(row: Row) -> Iterator[BesidePeers]:
    """Those that have a job of their own: its rate."""
    jobs: Mapping[str, list[tuple[Record, Series]]] = grouped(
        (each.record.node, (each.record, each.series))
        for each in row.counted
        if each.record.device is None
        and each.series is not None
        and len(each.run.jobs[each.record.job]) == 1
    )
    for told in jobs.values():
        yield _measured(told[0][0], NODE, row.unit, [series for _, series in told])


def _measured(record: Record, place: str, unit: str, launches: Sequence[Series]) -> BesidePeers:
    each = [[series] for series in launches]
    value, why = pooled_mean(each), why_no_mean(each)
    errors = []
    for series in launches:
        if len(series.rates) < FEWEST:
            why = why or f"fewer than {FEWEST} observations"
            break
        # few observations tell their error badly
        half_width = series.error.half_width / t_quantile(math.inf)
        errors.append(half_width / series.mean if series.mean > 0 else NAN)
    error = math.hypot(*errors) / len(launches)
    why = why or ("" if value > 0 and math.isfinite(error) else "it has no rate")
    return BesidePeers(record.node, place, _kind(record), unit, value, error, why)


def _kind(record: Record) -> str:
    return device_of(record)[1] or told_text(record.meta, "cpu", "brand")


def _ranks(row: Row) -> Iterator[BesidePeers]:
    """Those that train with others, by their own work: steps a second without waits for others."""
    records = records_by_rank(row.counted)
    for rank in row.ranks if not row.reported("model").get("waits_unknown") else ():
        record = records[rank.id]
        if record.device is None and rank.local_ms > 0:
            error = rank.local_error / rank.local_ms
            kind = f"{_kind(record)} {rank.stages}"
            why = "" if math.isfinite(error) else f"fewer than {FEWEST} steps"
            yield BesidePeers(
                rank.id.node or record.node, rank.id.name, kind, "steps/s of its own work",
                1000 / rank.local_ms, error, why,
            )  # fmt: skip


def _beside(
    own: Sequence[BesidePeers], earlier: Sequence[BesidePeers], comparisons: int
) -> list[BesidePeers]:
    """Those of this run beside their peers, and beside those of earlier runs; none of one alone."""
    known = [*own, *earlier]
    if len(known) < 2:
        return []
    reference: Reference = "earlier" if earlier else "peers"
    logs = np.log([each.value for each in known])
    errors = np.array([each.error for each in known])
    of_nodes = grouped(((each.run, each.node), each) for each in known)
    numbers = {node: number for number, node in enumerate(of_nodes)}
    places = [numbers[each.run, each.node] for each in known]
    devices, nodes = compare_devices(logs, errors, places, comparisons)
    found = [_judged(each, devices, index, reference) for index, each in enumerate(own)]
    for index, node in enumerate(dict.fromkeys((each.run, each.node) for each in own)):
        if nodes is not None:
            value = math.exp(middle(np.log([each.value for each in of_nodes[node]])))
            whole = replace(own[0], node=node[1], place=NODE, value=value)
            found.append(_judged(whole, nodes, index, reference))
    return found


def _judged(each: BesidePeers, found: Compared, index: int, reference: Reference) -> BesidePeers:
    median = math.exp(found.median)
    lower, smallest = 1 - each.value / median, -math.expm1(-float(found.smallest[index]))
    word, why = Word.PASS, ""
    if len(found.are_below) == 2 and found.are_below.any():
        word, why = Word.CANNOT_TELL, EITHER
    elif smallest > max(UNSEEN, lower):
        word, why = Word.CANNOT_TELL, f"a defect below {smallest:.0%} would not have been found"
    elif found.are_below[index]:
        word, why = Word.FAIL, "more than the spread of its kind"
    return replace(
        each, median=median, lower=lower, smallest=smallest, word=word, why=why, reference=reference
    )
