"""What the score of a suite is made of."""

from ...table import Column, Measured, Table, without_unknown
from ..model import Report

OF_BASELINE = "(ratios to the baseline)"


def scores(report: Report) -> Table:
    """A row for each benchmark of the suite: its score, and that for a joule where known."""
    columns = (
        Column("benchmark"),
        Column("weight", ".2f"),
        Column("score", ".5g"),
        Column("for a J", ".4g"),
        Column("unit", unknown=""),
    )
    has_baseline = report.score.baseline is not None
    rows = []
    for each in report.score.benchmarks:
        unit = "" if has_baseline else each.unit
        score = Measured(each.score, each.error, with_error=True)
        rows.append((each.name, each.weight, score, each.per_watt, unit))
    notes = (OF_BASELINE,) if has_baseline and rows else ()
    return without_unknown(Table(columns, tuple(rows), "Scores", notes), always=3)
