"""Predictions as a table, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct

from ...codec import encode_indented
from ...table import Column, Table, table_from
from ..document import Document
from .predict import Predicted, Prediction

TABLE = (
    Column("benchmark", "", "of.name"),
    Column("of", "", "of.axis"),
    Column("N", "d", "at.count"),
    Column("measured ms", ".4g", "at.measured_ms"),
    Column("step ms", ".4g", "at.step_ms.measured"),
    Column("own", ".3g", "at.own_ms"),
    Column("waiting", ".3g", "at.waiting_ms"),
    Column("communication", ".3g", "at.communication_ms"),
    Column("throughput", ".4g", "at.throughput.measured"),
    Column("unit", "", "of.unit"),
    Column("efficiency", ".3f", "at.efficiency.measured"),
)
NUMBERS = ("count", "measured_ms", "own_ms", "waiting_ms", "communication_ms")
ESTIMATES = ("step_ms", "throughput", "efficiency")


@dataclass(frozen=True, kw_only=True)
class PredictionDocument(Document):
    """What ``report --predict`` tells."""

    predictions: tuple[Predicted, ...]


class Predicting(Struct, frozen=True):
    """A benchmark, and what is predicted of it at a number of nodes or ranks."""

    of: Predicted
    at: Prediction


def prediction_table(all_predicted: Sequence[Predicted]) -> Table:
    """A row for each benchmark and number of nodes.

    Notes tell the model, its check, and what is not predicted.
    """
    notes = [f"({found.name}: {note})" for found in all_predicted for note in _notes(found)]
    return table_from(TABLE, _lines(all_predicted), "Prediction", notes)


def prediction_columns(all_predicted: Sequence[Predicted]) -> Table:
    """The same rows for a spreadsheet: both ends of each interval, and no notes."""
    columns = [
        Column("benchmark", "", "of.name"),
        Column("axis", "", "of.axis"),
        *(Column(name, "", f"at.{name}") for name in NUMBERS),
    ]
    for name in ESTIMATES:
        columns.append(Column(name, "", f"at.{name}.value"))
        columns += [Column(f"{name}_{end}", "", f"at.{name}.{end}") for end in ("low", "high")]
    return table_from(columns, _lines(all_predicted))


def _lines(all_predicted: Sequence[Predicted]) -> Iterator[Predicting]:
    for found in all_predicted:
        for each in found.predictions:
            yield Predicting(found, each)


def prediction_json(all_predicted: Sequence[Predicted]) -> str:
    return encode_indented(PredictionDocument(predictions=tuple(all_predicted))).decode()


def _notes(found: Predicted) -> Iterator[str]:
    if found.predictions:
        yield f"{found.model}; {found.condition}"
    check = found.check
    if check is not None:
        way = "longer" if check.error > 0 else "shorter"
        width = check.predicted_ms.half_width / check.predicted_ms.value
        yield (
            f"{check.what} on {check.count} {found.axis}, predicted from the others, is "
            f"{abs(check.error):.1%} {way} than measured, with an interval of ±{width:.1%}"
        )
    elif found.predictions:
        yield "not checked: without its largest point, no communication is known"
    for reason in found.refused:
        yield f"not predicted: {reason}"
