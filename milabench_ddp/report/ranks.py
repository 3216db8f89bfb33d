"""The table of ranks: which one is slowest, which fastest, and which has most work of its own."""

import statistics
from collections.abc import Sequence
from typing import Any

from .member import Member
from .model import NAN, Row
from .section import Heading, Section, without_unknown
from .stragglers import most_of


def ranks(rows: Sequence[Row]) -> Section:
    """A row for each benchmark of which several ranks, or devices, are known."""
    values = [found for row in rows if (found := _values(row))]
    columns = (
        Heading("bench"),
        Heading("ranks", "d"),
        Heading("ms", ".4g"),
        Heading("slowest"),
        Heading("ms", ".4g"),
        Heading("fastest"),
        Heading("own ms", ".4g"),
        Heading("most own work"),
        Heading("slower", ".1%"),
        Heading("in"),
    )
    return without_unknown(Section("Ranks", columns, tuple(values)))


def every_rank(rows: Sequence[Row]) -> Section:
    """A row for each rank of each benchmark; for spreadsheets."""
    columns = (
        Heading("bench"),
        Heading("rank"),
        Heading("node"),
        Heading("steps", "d"),
        *(Heading(name, ".4g") for name in ("ms", "p95_ms", "wait_ms", "own_ms")),
        *(Heading(name, ".0f") for name in ("allocated", "reserved")),
    )
    values = [
        (
            row.name,
            m.place.name,
            m.place.node,
            m.steps,
            *(round(value, 4) for value in (m.median, m.p95, m.waited, m.own_ms)),
            m.allocated,
            m.reserved,
        )
        for row in rows
        for m in row.members
    ]
    return Section("All ranks", columns, tuple(values))


def _values(row: Row) -> tuple[Any, ...]:
    if "sweep" in row.tables:
        return ()  # each device multiplied the shape that it found best: steps are not alike
    timed = [m for m in row.members if m.steps]
    working = [m for m in row.members if m.own]
    if max(len(timed), len(working)) < 2:
        return ()
    slowest: list[Any] = [NAN, ""]
    fastest: list[Any] = [NAN, ""]
    if len(timed) > 1:
        slowest = _time(max(timed, key=lambda m: m.median))
        fastest = _time(min(timed, key=lambda m: m.median))
    return (row.name, max(len(timed), len(working)), *slowest, *fastest, *_own(working))


def _time(member: Member) -> list[Any]:
    return [member.median, member.place.label]


def _own(working: Sequence[Member]) -> tuple[Any, ...]:
    if len(working) < 2:
        return NAN, "", NAN, ""
    most = max(working, key=lambda m: m.own_ms)
    typical = statistics.median(m.own_ms for m in working if m is not most)
    slower = most.own_ms / typical - 1 if typical > 0 else NAN
    return most.own_ms, most.place.label, slower, most_of(most, working)
