"""The strips of a page: how fast each device or rank was, beside the others of its benchmark."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from ...render.html import SHADES, cell, render, shade, text
from ...table import Column, Table, is_unknown
from ..model import Report, Row
from ..ranks.rank_summary import RankId, peers
from ..statistics.values import NAN, median
from ..tables.monitor_tables import watched_devices

MOST_PLACES = 16  # columns, of which more cannot be seen at once
DEVICES, RANKS = "devices", "ranks"
MEANING = {
    DEVICES: "rates of devices beside their median",
    RANKS: "own speeds of ranks beside their median",
}
COLOURS = f"= is within {SHADES[0]:.0%}, orange slower, blue faster"


def relative_speeds(row: Row) -> dict[RankId, float]:
    """How much faster than the median of its peers each device or rank is, as a fraction.

    Of a process alone on a device its rate is compared, of a rank of a job its own work. A rate
    that tells nothing is left out, and all are where that of the benchmark does.
    """
    if math.isnan(row.perf):
        return {}
    found: dict[RankId, float] = {}
    devices = [each for each in watched_devices(row) if each.series]
    for each in devices:
        if each.id and math.isfinite(each.from_median):
            found[each.id] = each.from_median
    for group in () if devices else peers(row.ranks):
        speeds = {rank.id: 1 / rank.local_ms for rank in group if rank.local_ms > 0}
        if len(speeds) > 1:
            typical = median(speeds.values())
            found |= {id: speed / typical - 1 for id, speed in speeds.items()}
    return found


def strips(report: Report, anchors: Mapping[str, str]) -> Iterator[Markup]:
    """A table of the devices and one of the ranks, the benchmark that differs most at the top."""
    kinds: dict[str, dict[str, dict[RankId, float]]] = defaultdict(dict)
    for row in report.rows:
        if speeds := relative_speeds(row):
            is_alone = next(iter(speeds)).name.startswith("device")
            kinds[DEVICES if is_alone else RANKS][row.name] = speeds
    for kind in sorted(kinds):
        yield _strip(kind, kinds[kind], anchors)


def _strip(
    kind: str, rows: Mapping[str, Mapping[RankId, float]], anchors: Mapping[str, str]
) -> Markup:
    farthest: dict[RankId, float] = defaultdict(float)
    for speeds in rows.values():
        for id, off in speeds.items():
            farthest[id] = max(farthest[id], abs(off))
    shown = sorted(sorted(farthest, key=lambda id: -farthest[id])[:MOST_PLACES])
    has_nodes = len({id.node for id in farthest}) > 1
    titles = [id.label if has_nodes else id.name for id in shown]
    columns = [Column("benchmark"), *(Column(title, right=True) for title in titles)]
    ordered = sorted(rows, key=lambda name: -max(map(abs, rows[name].values())))
    lines = []
    for name in ordered:
        cells = [f'<th scope="row"><a href="#{anchors[name]}">{text(name)}</a></th>']
        for column, id in zip(columns[1:], shown, strict=True):
            off = rows[name].get(id, NAN)
            said = "=" if abs(off) < SHADES[0] else "" if is_unknown(off) else f"{off:+.0%}"
            cells.append(cell(column, said, shade(-off, 0.0, 1.0)))  # as of a time: more is slower
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = [f"{MEANING[kind]}: {COLOURS}"]
    if len(shown) < len(farthest):
        notes.append(f"the {len(shown)} of {len(farthest)} {kind} that differ most")
    table = Table(tuple(columns), (), kind.capitalize(), tuple(notes))
    return render("table.html", table=table, columns=columns, rows=Markup("".join(lines)),
                  most=0, whole="", label=table.title)  # fmt: skip
