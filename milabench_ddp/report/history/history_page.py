"""A history as a page for a browser: what changed, each benchmark, and its rates over runs."""

from collections.abc import Mapping, Sequence

from ...render.html import html_table
from ...table import Table
from ..page.frame import WIDE, sections_page, svg_figure
from .history import History
from .history_chart import history_chart
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
