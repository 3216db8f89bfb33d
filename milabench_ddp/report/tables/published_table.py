"""Our figures beside those that others published (``config/published.yaml``).

A row is near if it is of the same work, strategy, precision and family of devices, and of a similar
size. Of several, the one that differs least stands beside ours, and what it differs in.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from ...config.published import data_sheets, publications
from ...errors import shown_names
from ...results.records import Payload, is_finite, mapping_or_empty
from ...table import Column, Measured, Table, table_from
from ..collectives import operations_of
from ..grouping import grouped
from ..mfu import UNIT, device_of, precision
from ..model import Row, Rows
from ..process import BANDWIDTH
from ..statistics.values import NAN
from .selection import MadeTable

SHARED = ("model", "strategy", "precision", "family", "size")  # what a near row has in common
COMPARED = ("device", "compile", "activation", "vocabulary", "size", "gpus", "batch")  # in order
SIMILAR = math.log(2)  # sizes: tokens of a sequence, pixels of a side, bytes


def nearest(ours: Payload) -> Payload | str:
    """The published row that differs least from ``ours``, with its table; or why none is near.

    Both are told in the words of a ``PublishedRow``.
    """
    near: list[dict[str, Any]] = []
    for table in publications():
        for row in table.rows:
            near.append(asdict(table) | asdict(row) | {"family": data_sheets()[row.device].family})
    # a collective of more or fewer ranks takes other ways
    for name in (*SHARED, *(["gpus"] if ours["unit"] == BANDWIDTH else [])):
        known = sorted({_text(row[name]) for row in near})
        near = [row for row in near if _apart(ours, row, name) <= SIMILAR * (name == "size")]
        if not near:
            return f"none has {name} {_text(ours[name])}, only {shown_names(known)}"
    return min(near, key=lambda row: [_apart(ours, row, name) for name in COMPARED])


def _apart(ours: Payload, row: Payload, name: str) -> float:
    """By how much both differ, of numbers the logarithm of their ratio; 0 if one is not known."""
    mine, theirs = ours.get(name), row[name]
    if is_finite(mine) and is_finite(theirs) and mine > 0:
        return abs(math.log(mine / theirs))
    return float(None not in (mine, theirs) and mine != theirs)


def _text(value: object) -> str:
    return f"{value:,.10g}" if is_finite(value) else str(value)


def ours_of(row: Row) -> Iterator[Payload]:
    """What of a benchmark can be held against a published row; a collective of its largest size."""
    if row.summary.why_no_rate or not row.counted or not row.perf > 0:
        return
    record, model, ranks = row.counted[0].record, row.reported("model"), row.told_mean("ranks")
    device, product = device_of(record)
    family = data_sheets()[device].family if device else product or "unknown"
    torch = mapping_or_empty(record.meta.get("pytorch")).get("torch")
    ours = {"benchmark": row.name, "our torch": torch, "unit": row.unit, "device": device}
    ours |= {"family": family, "precision": precision(record) or "unknown", "gpus": ranks}
    ours["failed"] = row.fail > 0
    if "mode" in model and ranks > 0:
        told = {"model": model.get("name"), "strategy": str(model["mode"])}
        told |= {"batch": model.get("batch_size"), "value": row.like_perf(row.perf / ranks)}
        yield {"compile": "none", **model, **ours, **told}
    elif row.unit == UNIT:
        yield {**ours, "model": "matrix product", "gpus": 1, "value": row.like_perf(row.perf)}
    for operation in operations_of(row):
        name, _, dtype, count = operation.key
        name += f" over {row.nodes} nodes" if row.nodes > 1 else ""
        told = {"model": name, "precision": dtype, "unit": BANDWIDTH}
        told |= {"gpus": int(count) if count.isdigit() else 0, "size": operation.sizes[-1]}
        yield {**ours, **told, "value": Measured(operation.bus, NAN)}


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
        if _apart(ours, row, name):
            differs.insert(0, f"{name} {_text(ours[name])}, not {_text(row[name])}")
    if ours["failed"]:
        differs.insert(0, "ours failed")
    found = {"ours": ours["value"], "published": row["value"], "theirs": row["software"]}
    found |= {"ratio": Measured(value, error, with_error=True), "differs in": "; ".join(differs)}
    return {**ours, **row, **found}


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
