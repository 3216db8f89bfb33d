"""The chart of a series of a history: its value in each run, and its changes with their dates."""

from ...metric_line import LARGEST
from ...table import Column, Table
from ..charts.axes import Axis
from ..charts.chart import Chart
from ..charts.plot import ChartPoint, Curve, Mark, Plot
from ..charts.scale import auto_scale
from .history import BACK, DRIFT, History
from .tracks import Track


def history_chart(track: Track, history: History) -> Chart:
    if track.device is None:
        name, values = track.benchmark, history.rates(track)
        axis = f"rate, {track.unit or 'units/s'}"
    else:
        name, values = f"{track.benchmark}: {track.device.key}", track.ratios
        axis = "speed against its peers, 1 in the first runs"
    changed = {}
    for change in history.changes:
        if change.track is track and change.kind != DRIFT:
            back = ", a level seen before" if change.kind == BACK else ""
            changed[change.run] = f"{change.ratio - 1:+.1%}{back}"
    points, marks, rows = [], [], []
    for index, value in zip(track.runs, values, strict=True):
        run, told = history.runs[index], changed.get(index, "")
        where = ", ".join(filter(None, (run.name, run.date)))
        rows.append((index + 1, run.name, run.date, value, told))
        if abs(value) < LARGEST:
            words = f"run {index + 1}, {where}: {value:.5g}"
            points.append(ChartPoint(index + 1, value, words=words))
        if told:
            when = run.date.partition(" ")[0] or f"run {index + 1}"
            marks.append(Mark(index + 1, f"{told}, {when}"))
    dates = " to ".join(dict.fromkeys(filter(None, (rows[0][2], rows[-1][2]))))
    plot = Plot(
        Axis(f"run, {dates}" if dates else "run"),
        Axis(axis, auto_scale),
        [Curve(name, points)],
        marks=marks,
    )
    columns = Column("run", "d"), Column("name"), Column("began"), Column(axis, ".5g")
    table = Table((*columns, Column("change")), tuple(rows), name)
    said = "; ".join(mark.words for mark in marks) or "no change"
    description = f"{axis}, over {len(rows)} runs: {said}."
    return Chart("history", track.benchmark, "", name, description, plot.draw, table)
