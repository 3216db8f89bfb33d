"""Bandwidth of memory, of the way between host and device, and of the links between devices.

Programs tell a row for each path (``bandwidth``) and for each pair of ranks (``pair``).
"""

from collections import defaultdict

from ...results.records import Payload, is_finite
from ...table import Column, Table, without_unknown
from ..links import kinds_of, links_of
from ..model import Rows
from ..statistics.values import NAN, mean
from .program_tables import size_text


def bandwidths(rows: Rows) -> Table:
    """A row for each path that a benchmark measured, as the mean over devices.

    The share is that of the data sheet: of the memory's clock and width, or of the device's PCIe
    link.
    """
    columns = (
        Column("benchmark"),
        Column("path"),
        Column("bytes"),
        Column("GB/s", ".4g"),
        Column("lowest", ".4g"),
        Column("data sheet", ".4g"),
        Column("share", ".1%"),
    )
    values = []
    for row in rows:
        paths: dict[tuple[str, int], list[Payload]] = defaultdict(list)
        for payload in row.tables.get("bandwidth", ()):
            if is_finite(payload.get("gb_s")) and type(payload.get("bytes")) is int:
                paths[str(payload.get("path", "")), payload["bytes"]].append(payload)
        for (path, size), found in paths.items():
            speeds = [payload["gb_s"] for payload in found]
            lowest = min(speeds) if len(speeds) > 1 else NAN
            speed, promised = mean(speeds), mean(each.get("data_sheet_gb_s") for each in found)
            shown = (
                row.name,
                path,
                size_text(size),
                speed,
                lowest,
                promised,
                speed / (promised or NAN),
            )
            values.append(shown)
    table = Table(columns, tuple(values), "Memory and transfers")
    return without_unknown(table, always=4)


def links(rows: Rows) -> Table:
    """A row for each benchmark that measured pairs of ranks, and each kind of link."""
    columns = (
        Column("benchmark"),
        Column("where"),
        Column("ways"),
        Column("pairs", "d"),
        Column("GB/s", ".4g"),
        Column("slowest"),
        Column("GB/s", ".4g"),
    )
    values = []
    for row in rows:
        for kind in kinds_of(row):
            worst = kind.slowest
            shown = (*kind.name, len(kind.links), kind.typical, worst.label, worst.gb_s)
            values.append((row.name, *shown))
    return Table(columns, tuple(values), "Links between devices")


def pairs(rows: Rows) -> Table:
    """A row for each pair of ranks."""
    columns = (
        Column("benchmark"),
        Column("from", "d"),
        Column("to", "d"),
        Column("ways", "d"),
        Column("from_node"),
        Column("to_node"),
        Column("gb_s", ".4g"),
        Column("best_gb_s", ".4g"),
    )
    values = []
    for row in rows:
        for link in links_of(row):
            ends = (link.sender, link.receiver, link.ways, *link.nodes)
            values.append((row.name, *ends, link.gb_s, link.best_gb_s))
    return Table(columns, tuple(values), "Pairs of ranks")
