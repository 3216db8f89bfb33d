"""How each model was spread over devices: its batch, the rate of a device, its types."""

from ..results.records import Payload
from ..table import Column, Measured, Table, without_unknown
from .model import Finding, Findings, Row, Rows
from .statistics import NAN


def strategies(rows: Rows) -> Table:
    """A row for each benchmark whose program told its mode and its ranks."""
    columns = (
        Column("bench"),
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
        model, ranks = row.reported("model"), _told(row, "ranks")
        if "mode" not in model or not ranks > 0:
            continue
        rate = row.perf / ranks
        shown = (
            row.name,
            str(model["mode"]),
            ranks,
            _told(row, "replicas"),
            _global_batch(row),
            _told(row, "chunks"),
            Measured(rate, rate * row.uncertainty),
            row.unit,
            _types(model),
            str(model.get("optimizer_implementation", "")),
            str(model.get("attention", "")),
        )
        values.append(shown)
    return without_unknown(Table(columns, tuple(values), "Strategies"), always=3)


def misaligned_widths(row: Row) -> Findings:
    """Widths of heads and shards that the kernels of matrix products and attention do not like."""
    odd = row.reported("model").get("misaligned")
    if odd:
        sentence = f"widths are not multiples of 8, so kernels pad them or are slower: {odd}"
        yield Finding(sentence, evidence={"widths": odd})


def _told(row: Row, name: str) -> float:
    return row.told[name].mean if name in row.told else NAN


def _global_batch(row: Row) -> float:
    """Items of all replicas in a step; older programs told those of one replica."""
    if "global_batch_size" in row.told:
        return _told(row, "global_batch_size")
    return _told(row, "replicas") * _told(row, "batch_size")


def _types(model: Payload) -> str:
    """The precision, and the types in which parameters and gradients are sent, if they are."""
    words = [str(model["precision"])] if "precision" in model else []
    for what in ("gathered", "reduced"):
        if f"{what}_dtype" in model:
            words.append(f"{what} {model[f'{what}_dtype']}")
    return ", ".join(words)
