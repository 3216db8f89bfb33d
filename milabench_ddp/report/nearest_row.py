"""The published figure that is nearest to one of ours (``config/published.yaml``).

A row is near if it is of the same work, strategy, precision and family of devices, and of a similar
size. Of several, the one that differs least stands beside ours, and what it differs in.
"""

import math
from typing import Any

from msgspec.structs import asdict

from ..config.published import data_sheets, publications
from ..errors import shown_names
from ..results.records import Payload, is_finite, mapping_or_empty
from .mfu import UNIT, device_of, precision
from .model import Row
from .process import BANDWIDTH

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
        known = sorted({text_of(row[name]) for row in near})
        near = [row for row in near if apart(ours, row, name) <= SIMILAR * (name == "size")]
        if not near:
            return f"none has {name} {text_of(ours[name])}, only {shown_names(known)}"
    return min(near, key=lambda row: [apart(ours, row, name) for name in COMPARED])


def apart(ours: Payload, row: Payload, name: str) -> float:
    """By how much both differ, of numbers the logarithm of their ratio; 0 if one is not known."""
    mine, theirs = ours.get(name), row[name]
    if is_finite(mine) and is_finite(theirs) and mine > 0:
        return abs(math.log(mine / theirs))
    return float(None not in (mine, theirs) and mine != theirs)


def text_of(value: object) -> str:
    return f"{value:,.10g}" if is_finite(value) else str(value)


def told_of(row: Row) -> Payload:
    """A benchmark in the words of a ``PublishedRow``; without a value where it has no such work."""
    if row.why_no_rate or not row.counted or not row.perf > 0:
        return {}
    record, model, ranks = row.counted[0].record, row.reported("model"), row.told_mean("ranks")
    device, product = device_of(record)
    family = data_sheets()[device].family if device else product or "unknown"
    torch = mapping_or_empty(record.meta.get("pytorch")).get("torch")
    ours = {
        "benchmark": row.name,
        "our torch": torch,
        "unit": row.unit,
        "device": device,
        "family": family,
        "precision": precision(record) or "unknown",
        "gpus": ranks,
        "failed": row.fail > 0,
    }
    if "mode" in model and ranks > 0:
        return {
            "compile": "none",
            **model,
            **ours,
            "model": model.get("name"),
            "strategy": str(model["mode"]),
            "batch": model.get("batch_size"),
            "value": row.like_perf(row.perf / ranks),
        }
    if row.unit == UNIT:
        return {**ours, "model": "matrix product", "gpus": 1, "value": row.like_perf(row.perf)}
    return ours
