"""What devices reach: matrix products, and the bandwidth of memory, transfers and links.

Programs tell a row for each shape (``sweep``), for each path (``bandwidth``) and for each pair of
ranks (``pair``).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...results.records import Payload, is_finite
from ...table import Column
from ..links import SpeedMap, between_nodes, kinds_of, links_of
from ..model import Row, Rows
from ..statistics.values import NAN, known, mean, median
from .program_tables import size_text
from .selection import TableOf

MARKS, BOUNDS = "\u00b7\u2591\u2592\u2593\u2588", (0.05, 0.2, 0.5, 0.8)  # from light to full blocks
LEGEND = (
    "Below the median: \u00b7 less than 5%, \u2591 from 5% on, \u2592 20%, \u2593 50%, \u2588 80%"
)
MOST_MARKS = 96


def _shapes(row: Row) -> Iterator[Mapping[str, object]]:
    """What a benchmark that tried several shapes found, as the mean over devices.

    The speed of a shape is from a short trial on each. The last column is the speed that the
    benchmark then measured, with the fastest shape of each device.
    """
    speeds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for payload in row.tables.get("sweep", ()):
        if is_finite(payload.get("tflop_s")):
            shape = " x ".join(str(payload.get(side, "?")) for side in ("m", "n", "k"))
            speeds[str(payload.get("dtype", "")), shape].append(payload["tflop_s"])
    if speeds:
        means = {key: mean(found) for key, found in speeds.items()}
        best = max(means, key=lambda key: means[key])
        yield {
            "type": best[0],
            "shapes": len(means),
            "best m x n x k": best[1],
            "tried TFLOP/s": means[best],
            "TFLOP/s": row.like_perf(row.perf),
        }


def _paths(row: Row) -> Iterator[Mapping[str, str | float]]:
    """Each path that a benchmark measured, as the mean over devices.

    The share is that of the data sheet: of the device's memory, or of its PCIe link. It is not
    known where it would be above 1.
    """
    paths: dict[tuple[str, int], list[Payload]] = defaultdict(list)
    for payload in row.tables.get("bandwidth", ()):
        if is_finite(payload.get("gb_s")) and type(payload.get("bytes")) is int:
            paths[str(payload.get("path", "")), payload["bytes"]].append(payload)
    for (path, size), found in paths.items():
        speeds = [payload["gb_s"] for payload in found]
        promised = mean(payload.get("data_sheet_gb_s") for payload in found)
        share = mean(speeds) / (promised or NAN)
        yield {
            "path": path,
            "bytes": size_text(size),
            "GB/s": mean(speeds),
            "lowest": min(speeds) if len(speeds) > 1 else NAN,
            "data sheet": promised,
            "share": share if share <= 1 else NAN,
        }


def _nodes(row: Row) -> Iterator[Mapping[str, str | float]]:
    """Each node with its links to others, one way, and a mark for each of these."""
    if kind := between_nodes(row):
        found = SpeedMap.of(kind.links, of_nodes=True)
        typical, to_nodes = kind.typical, found.speeds.T.tolist()
        for node, sends, receives in zip(found.ends, found.speeds.tolist(), to_nodes, strict=True):
            slowest = min(known(sends), default=NAN)
            marks = "".join(_mark(1 - gb_s / typical) for gb_s in sends)
            yield {
                "node": node,
                "sends GB/s": median(sends),
                "receives GB/s": median(receives),
                "slowest GB/s": slowest,
                "to": found.ends[sends.index(slowest)] if known(sends) else "",
                "to each node": marks if len(marks) <= MOST_MARKS else "",
            }


def _mark(lower: float) -> str:
    if math.isnan(lower):
        return " "
    return MARKS[sum(lower >= bound for bound in BOUNDS)]


def _marks(rows: Rows) -> Iterator[str]:
    if any(each["to each node"] for row in rows for each in _nodes(row)):
        yield LEGEND


sweeps = TableOf(
    "Matrix products",
    _shapes,
    (
        Column("type"),
        Column("shapes", "d"),
        Column("best m x n x k"),
        Column("tried TFLOP/s", ".4g"),
        Column("TFLOP/s", ".4g"),
    ),
)
bandwidth = TableOf(
    "Memory and transfers",
    _paths,
    (
        Column("path"),
        Column("bytes"),
        Column("GB/s", ".4g"),
        Column("lowest", ".4g"),
        Column("data sheet", ".4g"),
        Column("share", ".1%"),
    ),
    always=4,
)
links = TableOf(
    "Links between devices",
    kinds_of,
    (
        Column("where", "", "name.0"),
        Column("ways", "", "name.1"),
        Column("pairs", "d", lambda kind: len(kind.links)),
        Column("GB/s", ".4g", "typical"),
        Column("slowest", "", "slowest.label"),
        Column("GB/s", ".4g", "slowest.gb_s"),
        Column("schedule", "", "name.2"),
    ),
    always=7,
)
pairs = TableOf(
    "Pairs of ranks",
    links_of,
    (
        Column("from", "d", "sender"),
        Column("to", "d", "receiver"),
        Column("ways", "d"),
        Column("from_node", "", "nodes.0"),
        Column("to_node", "", "nodes.1"),
        Column("gb_s", ".4g"),
        Column("best_gb_s", ".4g"),
        Column("schedule"),
    ),
    always=8,
)
link_map = TableOf(
    "Links between nodes",
    _nodes,
    (
        Column("node"),
        Column("sends GB/s", ".4g"),
        Column("receives GB/s", ".4g"),
        Column("slowest GB/s", ".4g"),
        Column("to"),
        Column("to each node"),
    ),
    always=6,
    notes=_marks,
)
