"""How each model was spread over devices: its batch, the rate of a device, its types."""

from ...results.records import Payload
from ...table import Column, Table, without_unknown
from ..model import Row, Rows


def strategies(rows: Rows) -> Table:
    """A row for each benchmark whose program told its mode and its ranks."""
    columns = (
        Column("benchmark"),
        Column("mode"),
        Column("ranks", ".0f"),
        Column("replicas", ".0f"),
        Column("global batch", ".0f"),
        Column("microbatches", ".0f"),
        Column("rate/GPU", ".4g"),
        Column("unit", unknown=""),
        Column("types", unknown=""),
        Column("optimizer", unknown=""),
        Column("attention", unknown=""),
    )
    values = []
    for row in rows:
        model, ranks = row.reported("model"), row.told_mean("ranks")
        if "mode" not in model or not ranks > 0:
            continue
        shown = (
            row.name,
            str(model["mode"]),
            ranks,
            row.told_mean("replicas"),
            _global_batch(row),
            row.told_mean("chunks"),
            row.like_perf(row.perf / ranks),
            row.unit,
            _types(model),
            str(model.get("optimizer_implementation", "")),
            str(model.get("attention", "")),
        )
        values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Strategies"), always=3)


def _global_batch(row: Row) -> float:
    if "global_batch_size" in row.told:
        return row.told_mean("global_batch_size")
    return row.told_mean("replicas") * row.told_mean("batch_size")


def _types(model: Payload) -> str:
    words = [str(model["precision"])] if "precision" in model else []
    for what in ("gathered", "reduced"):
        if f"{what}_dtype" in model:
            words.append(f"{what} {model[f'{what}_dtype']}")
    return ", ".join(words)
