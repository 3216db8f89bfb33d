"""Our figures beside those that others published (``config/published.yaml``).

A row is near if it is of the same work, strategy, precision and family of devices, and of a similar
size. Of several, the one that differs least stands beside ours, and what it differs in.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from ...config.published import Publication, PublishedRow, data_sheets, publications
from ...errors import shown_names
from ...results.records import mapping_or_empty
from ...table import Column, Measured, Table
from ..grouping import grouped
from ..mfu import UNIT, device_of, precision
from ..model import Row, Rows
from ..statistics.values import NAN
from .program_tables import operations_of
from .selection import MadeTable

SIMILAR = 2  # the largest ratio of two sizes: tokens of a sequence, pixels of a side, bytes


class Ours(Struct, frozen=True):
    """What a benchmark measured, in the words of a ``PublishedRow``; ``None``: not known."""

    benchmark: str
    device: str  # the name of its data sheet; empty without one
    product: str
    software: str
    model: str
    value: Measured
    unit: str
    precision: str
    gpus: float
    strategy: object = None
    activation: object = None
    compile: object = None
    batch: Any = None
    size: Any = None
    vocabulary: Any = None

    @property
    def family(self) -> str:
        return data_sheets()[self.device].family if self.device else self.product or "unknown"


class Match(Struct, frozen=True):
    """Ours, and the published row that is nearest."""

    ours: Ours
    publication: Publication
    row: PublishedRow

    @property
    def ratio(self) -> Measured:
        value = self.ours.value
        return Measured(value / self.row.value, value.error / self.row.value, with_error=True)

    @property
    def differences(self) -> str:
        found = []
        for name, shown in COMPARED.items():
            mine, theirs = getattr(self.ours, name), getattr(self.row, name)
            if None not in (mine, theirs) and mine != theirs:
                found.append(f"{shown} {_text(mine)}, not {_text(theirs)}")
        return "; ".join([*found, *filter(None, [self.publication.note])])

    @property
    def distance(self) -> tuple[float, ...]:
        """Differences, the gravest first; of sizes the logarithm of their ratio."""
        ours, row = self.ours, self.row
        alike = ("device", "compile", "activation", "vocabulary")
        wrong = [getattr(row, name) not in (None, getattr(ours, name)) for name in alike]
        pairs = (ours.size, row.size), (ours.gpus, row.gpus), (ours.batch, row.batch)
        return *map(float, wrong), *(abs(math.log(mine / theirs)) if mine and theirs else 0.0
                                     for mine, theirs in pairs)  # fmt: skip


COMPARED = {
    "device": "device",
    "gpus": "GPUs",
    "batch": "batch",
    "size": "size",
    "activation": "activation",
    "compile": "compile",
    "vocabulary": "vocabulary",
}
# What a published row must share, and how it is called; the first that none shares is the reason.
MUST: Sequence[tuple[str, Callable[[Any], object]]] = (
    ("strategy", lambda of: of.strategy),
    ("precision", lambda of: of.precision),
    ("devices", lambda of: getattr(of, "family", None) or data_sheets()[of.device].family),
)


def nearest(ours: Ours) -> Match | str:
    """The published row that differs least; or why none is near."""
    near = [Match(ours, table, row) for table in publications() for row in table.rows]
    near = [each for each in near if each.row.model == ours.model]
    if not near:
        return f"none is of {ours.model}"
    for name, value in MUST:
        have = {str(value(each.row)) for each in near}
        near = [each for each in near if value(each.row) in (None, value(ours))]
        if not near:
            return f"those of {ours.model} have {name} {_listed(have)}, not {value(ours)}"
    have = {_text(each.row.size) for each in near}
    near = [each for each in near if _is_similar(ours.size, each.row.size)]
    if not near:
        return f"those of {ours.model} have size {_listed(have)}, not {_text(ours.size)}"
    if ours.unit == "GB/s":  # a collective of other ranks takes other ways
        have = {str(each.row.gpus) for each in near}
        near = [each for each in near if each.row.gpus == ours.gpus]
        if not near:
            return f"those of {ours.model} are of {_listed(have)} GPUs, not {_text(ours.gpus)}"
    return min(near, key=lambda each: each.distance)


def _is_similar(mine: Any, theirs: Any) -> bool:
    return not mine or not theirs or 1 / SIMILAR <= mine / theirs <= SIMILAR


def _listed(values: set[str]) -> str:
    return shown_names(sorted(values))


def _text(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)


def ours_of(row: Row) -> Iterator[Ours]:
    """What of a benchmark can be held against a published row."""
    if row.summary.why_no_rate or not row.counted or not row.perf > 0:
        return
    record = row.counted[0].record
    torch = mapping_or_empty(record.meta.get("pytorch")).get("torch")
    made = partial(Ours, row.name, *device_of(record), f"torch {torch}" if torch else "")
    model, ranks = row.reported("model"), row.told_mean("ranks")
    if "mode" in model and ranks > 0:
        yield made(
            model=str(model.get("name")),
            value=row.like_perf(row.perf / ranks),
            unit=row.unit,
            precision=precision(record),
            gpus=ranks,
            strategy=model["mode"],
            activation=model.get("activation"),
            compile=model.get("compile", "none"),
            batch=model.get("batch_size"),
            size=model.get("size"),
            vocabulary=model.get("vocabulary"),
        )
    elif row.unit == UNIT:
        value = row.like_perf(row.perf)
        yield made("matrix product", value, UNIT, precision(record), 1)
    for operation in operations_of(row):
        op, _, dtype, count = operation.key
        for size in operation.sizes:
            value = Measured(operation.value(size, "bus_gb_s"), NAN)
            if count.isdigit() and value > 0:
                yield made(op, value, "GB/s", dtype, int(count), size=size)


@MadeTable
def published(rows: Rows) -> Table:
    """A row for each figure of ours that a published one is near."""
    found: list[Match] = []
    refused = []
    for row in rows:
        answers = [nearest(ours) for ours in ours_of(row)]
        near = [each for each in answers if isinstance(each, Match)]
        # of a collective, the size that is nearest to each of theirs
        best = {}
        for each in sorted(near, key=lambda of: of.distance, reverse=True):
            best[each.row] = each
        found += best.values()
        if answers and not near:
            refused.append((str(answers[-1]), row.name))
    notes = [f"(no published row is near: {shown_names(names)}: {reason})"
             for reason, names in grouped(refused).items()]  # fmt: skip
    values = [tuple(column.value(each) for column in COLUMNS) for each in found]
    return Table(COLUMNS, tuple(values), "Beside published figures", tuple(notes))


COLUMNS = (
    Column("benchmark", "", "ours.benchmark"),
    Column("ours", ".4g", "ours.value"),
    Column("published", ".6g", "row.value"),
    Column("unit", "", "row.unit"),
    Column("ratio", ".3f", "ratio"),
    Column("differs in", "", "differences", unknown=""),
    Column("our software", "", "ours.software"),
    Column("theirs", "", "publication.software"),
    Column("date", "", "publication.date"),
    Column("source", "", "publication.source"),
)
