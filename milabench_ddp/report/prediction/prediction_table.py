"""Predictions as a table, and as JSON."""

from collections.abc import Iterator, Sequence

from ...codec import encode_indented
from ...table import Column, Measured, Table
from .predict import Estimate, Predicted
from .prediction_document import PredictionDocument


def prediction_table(all_predicted: Sequence[Predicted]) -> Table:
    """A row for each benchmark and number of nodes; behind ``±`` half of the 95 % interval.

    Notes tell the model, its check, and what is not predicted.
    """
    columns = (
        Column("benchmark"),
        Column("of"),
        Column("N", "d"),
        Column("measured ms", ".4g"),
        Column("step ms", ".4g"),
        Column("own", ".3g"),
        Column("waiting", ".3g"),
        Column("communication", ".3g"),
        Column("throughput", ".4g"),
        Column("unit"),
        Column("efficiency", ".3f"),
    )
    values = []
    for found in all_predicted:
        for each in found.predictions:
            shares = each.own_ms, each.waiting_ms, each.communication_ms
            rest = found.unit, _measured(each.efficiency)
            shown = each.measured_ms, _measured(each.step_ms), *shares, _measured(each.throughput)
            values.append((found.name, found.axis, each.count, *shown, *rest))
    notes = [f"({found.name}: {note})" for found in all_predicted for note in _notes(found)]
    return Table(columns, tuple(values), "Prediction", tuple(notes))


def prediction_columns(all_predicted: Sequence[Predicted]) -> Table:
    """The same rows for a spreadsheet: both ends of each interval, and no notes."""
    names = ["benchmark", "axis", *_VALUES]
    for name in _ESTIMATES:
        names += [name, f"{name}_low", f"{name}_high"]
    values = []
    for found in all_predicted:
        for each in found.predictions:
            row: list[object] = [found.name, found.axis]
            row += [getattr(each, name) for name in _VALUES]
            for name in _ESTIMATES:
                estimate = getattr(each, name)
                row += [estimate.value, estimate.low, estimate.high]
            values.append(tuple(row))
    return Table(tuple(map(Column, names)), tuple(values))


def prediction_json(all_predicted: Sequence[Predicted]) -> str:
    """All that is known of them, as ``docs/reference/prediction.schema.json`` describes it."""
    return encode_indented(PredictionDocument(predictions=tuple(all_predicted))).decode()


_VALUES = ("count", "measured_ms", "own_ms", "waiting_ms", "communication_ms")
_ESTIMATES = ("step_ms", "throughput", "efficiency")


def _measured(estimate: Estimate) -> Measured:
    return Measured(estimate.value, estimate.half_width, with_error=True)


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
