"""A history as a page for a browser: what changed, each benchmark, and its rates over runs."""

from collections.abc import Iterator, Mapping, Sequence

from ...render.html import html_table
from ...table import Table
from ..charts.chart import Chart
from ..course_charts import course_chart
from ..page.frame import WIDE, sections_page, svg_figure
from ..page.series import Course, TimeSeries
from .history import History
from .tracks import Track

MOST_CHARTS = 64


def history_page(
    history: History, title: str, told: Mapping[str, Sequence[str]], table: Table
) -> str:
    """The page.

    Args:
        history: what was found.
        title: how many runs, benchmarks and devices it is of, and when they were.
        told: a sentence for each change, by the titles of the ways in which they lead.
        table: a row for each benchmark.
    """
    slower, faster = told["Slower"], told["Faster"]
    badges = [("▼ none slower", "good")]
    if slower:
        badges = [(f"▼ {len(slower)} slower", "error")]
    if faster:
        badges.append((f"▲ {len(faster)} faster", "good"))
    charts = [chart for chart in _charts(history) if chart is not None]
    notes = list(history.told_notes)
    if len(charts) > MOST_CHARTS:
        notes.insert(0, f"charts of the first {MOST_CHARTS} of {len(charts)} series are shown")
    figures = [svg_figure(chart, WIDE) for chart in charts[:MOST_CHARTS]]
    sections: dict[str, Sequence[str]] = {
        **told,
        "Benchmarks": [html_table(table, left_out=())],
        "Over runs": figures,
        "What to know": notes,
    }
    return sections_page(title, badges, [], sections)


def _charts(history: History) -> Iterator[Chart | None]:
    changed = {id(change.track): change.track for change in history.changes}
    for track in changed.values():
        yield _chart(track, history)
    for track in history.tracks:
        if track.device is None and id(track) not in changed:
            yield _chart(track, history)


def _chart(track: Track, history: History) -> Chart | None:
    if track.device is None:
        name, values = track.benchmark, history.rates(track)
        axis = f"rate, {track.unit or 'units/s'}"
    else:
        name, values = f"{track.benchmark}: {track.device.key}", track.ratios
        axis = "speed against its peers, 1 in the first runs"
    series = TimeSeries(name, [float(run + 1) for run in track.runs], values)
    course = Course("history", name, "run", axis, (series,))
    return course_chart(course, track.benchmark, name, axis)
