"""Our figures beside those that others published (``config/published.yaml``).

The nearest row stands beside ours, and what it differs in.
"""

from collections.abc import Iterator, Mapping

from ...errors import shown_names
from ...grouping import grouped
from ...results.records import Payload
from ...table import Column, Measured, Table, table_from
from ..collectives import operations_of
from ..model import Row, Rows
from ..nearest_row import COMPARED, apart, nearest, text_of, told_of
from ..process import BANDWIDTH
from ..statistics.values import NAN
from .selection import MadeTable


def ours_of(row: Row) -> Iterator[Payload]:
    """What of a benchmark can be held against a published row; a collective of its largest size."""
    known = told_of(row)
    if not known:
        return
    if "value" in known:
        yield known
    for operation in operations_of(row):
        name, _, dtype, count = operation.key
        name += f" over {row.nodes} nodes" if row.nodes > 1 else ""
        told: Payload = {"model": name, "precision": dtype, "unit": BANDWIDTH}
        gpus = int(count) if count.isdigit() else 0
        told = {**told, "gpus": gpus, "size": operation.sizes[-1]}
        yield {**known, **told, "value": Measured(operation.bus, NAN)}


@MadeTable
def published(rows: Rows) -> Table:
    """A row for each figure of ours that a published one is near."""
    found, refused = [], []
    for row in rows:
        for ours in ours_of(row):
            theirs = nearest(ours)
            if isinstance(theirs, Mapping):
                found.append(_beside(ours, theirs))
            else:
                refused.append((theirs, row.name))
    notes = []
    for reason, names in grouped(refused).items():
        notes.append(f"(no published row is near: {shown_names(names)}: {reason})")
    return table_from(COLUMNS, found, "Beside published figures", notes)


def _beside(ours: Payload, row: Payload) -> Payload:
    value, error = ours["value"] / row["value"], ours["value"].error / row["value"]
    differs = [f"theirs: {row['note']}"] if row["note"] else []
    for name in reversed(COMPARED):
        if apart(ours, row, name):
            differs.insert(0, f"{name} {text_of(ours[name])}, not {text_of(row[name])}")
    if ours["failed"]:
        differs.insert(0, "ours failed")
    return {
        **ours,
        **row,
        "ours": ours["value"],
        "published": row["value"],
        "theirs": row["software"],
        "ratio": Measured(value, error, with_error=True),
        "differs in": "; ".join(differs),
    }


COLUMNS = (
    Column("benchmark"),
    Column("ours", ".4g"),
    Column("published", ".6g"),
    Column("unit"),
    Column("ratio", ".3f"),
    Column("differs in", unknown=""),
    Column("our torch"),
    *map(Column, ("theirs", "date", "source")),
)
