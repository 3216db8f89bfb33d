"""A history as a page for a browser: what changed, each benchmark, and its rates over runs."""

from collections.abc import Mapping, Sequence

from ...metric_line import LARGEST
from ...render.html import html_table
from ...table import Column, Table
from ..charts.axes import Axis
from ..charts.chart import Chart
from ..charts.plot import ChartPoint, Curve, Mark, Plot
from ..charts.scale import auto_scale
from ..page.frame import WIDE, sections_page, svg_figure
from .history import BACK, DRIFT, History
from .run_points import span
from .tracks import Track

MOST_CHARTS = 64


def history_page(
    history: History, title: str, told: Mapping[str, Sequence[str]], table: Table
) -> str:
    """The page.

    Args:
        told: a sentence for each change, by the titles of the ways in which they lead.
    """
    slower, faster = told["Slower"], told["Faster"]
    badges = [("▼ none slower", "good")]
    if slower:
        badges = [(f"▼ {len(slower)} slower", "error")]
    if faster:
        badges.append((f"▲ {len(faster)} faster", "good"))
    tracks = _in_order(history)
    notes = list(history.told_notes)
    if len(tracks) > MOST_CHARTS:
        notes.insert(0, f"charts of the first {MOST_CHARTS} of {len(tracks)} series are shown")
    figures = [svg_figure(history_chart(track, history), WIDE) for track in tracks[:MOST_CHARTS]]
    sections: dict[str, Sequence[str]] = {
        **told,
        "Benchmarks": [html_table(table, left_out=())],
        "Over runs": figures,
        "What to know": notes,
    }
    return sections_page(title, badges, [], sections)


def _in_order(history: History) -> list[Track]:
    changed = {id(change.track): change.track for change in history.changes}
    others = [track for track in history.tracks if track.device is None]
    return [*changed.values(), *(track for track in others if id(track) not in changed)]


def history_chart(track: Track, history: History) -> Chart:
    """The value of a series in each run, and its changes with their dates."""
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
        rows.append((index + 1, run.name, run.date, value, told))
        if abs(value) < LARGEST:
            words = f"run {index + 1}, {run.title}: {value:.5g}"
            points.append(ChartPoint(index + 1, value, words=words))
        if told:
            when = run.date.partition(" ")[0] or f"run {index + 1}"
            marks.append(Mark(index + 1, f"{told}, {when}"))
    dates = span(history.runs[track.runs[0]], history.runs[track.runs[-1]])
    plot = Plot(
        Axis(f"run, {dates}" if dates else "run"),
        Axis(axis, auto_scale),
        [Curve(name, points)],
        marks=marks,
    )
    columns = (
        Column("run", "d"),
        Column("name"),
        Column("began"),
        Column(axis, ".5g"),
        Column("change"),
    )
    table = Table(columns, tuple(rows), name)
    said = "; ".join(mark.words for mark in marks) or "no change"
    description = f"{axis}, over {len(rows)} runs: {said}."
    return Chart("history", track.benchmark, "", name, description, plot.draw, table)
