"""How each model was spread over devices: its batch, the rate of a device, its types."""

from ...table import Column, Measured
from ..model import Row
from .selection import TableOf


def _global_batch(row: Row) -> float:
    if "global_batch_size" in row.told:
        return row.told_mean("global_batch_size")
    return row.told_mean("replicas") * row.told_mean("batch_size")


def _rate(row: Row) -> Measured:
    return row.like_perf(row.perf / row.told_mean("ranks"))


def _types(row: Row) -> str:
    model = row.reported("model")
    words = [str(model["precision"])] if "precision" in model else []
    for what in ("gathered", "reduced"):
        if f"{what}_dtype" in model:
            words.append(f"{what} {model[f'{what}_dtype']}")
    return ", ".join(words)


def _model(name: str, row: Row) -> str:
    return str(row.reported("model").get(name, ""))


strategies = TableOf(
    "Strategies",
    lambda row: [row] if "mode" in row.reported("model") and row.told_mean("ranks") > 0 else [],
    (
        Column("mode", "", lambda row: _model("mode", row)),
        Column("ranks", ".0f", lambda row: row.told_mean("ranks")),
        Column("replicas", ".0f", lambda row: row.told_mean("replicas")),
        Column("global batch", ".0f", _global_batch),
        Column("microbatches", ".0f", lambda row: row.told_mean("chunks")),
        Column("rate/GPU", ".4g", _rate),
        Column("unit", unknown=""),
        Column("types", "", _types, unknown=""),
        Column("optimizer", "", lambda row: _model("optimizer_implementation", row), unknown=""),
        Column("attention", "", lambda row: _model("attention", row), unknown=""),
    ),
    always=3,
)
