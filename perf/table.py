"""The figures as a table, and as JSON with what the machine is."""

import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from milabench_ddp.codec import encode_indented
from milabench_ddp.table import Column, Table

from .figure import Figure, Goal, quartiles

NAMES = ("figure", "measured", "floor", "over it", "quartiles", "goal", "", "grows")


def table(figures: Sequence[Figure]) -> Table:
    """A row for each figure; a note below explains the columns."""
    columns = [Column(name, right=name in NAMES[1:5]) for name in (*NAMES, "the floor is")]
    return Table(tuple(columns), tuple(map(_row, figures)), notes=(_NOTE,))


_NOTE = """
measured, floor: medians. over it: the median over rounds of their ratio (x) or difference, and its
quartiles. grows: the power of the size between the two largest sizes, and what one more costs."""


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = figure.relation == "ratio"
    sign = "" if ratio else "+"
    unit = "x" if ratio else figure.unit
    low, high = quartiles(figure.relative)
    missed = "misses" if figure.misses else ""
    grows = ""
    if figure.growth is not None:
        each = number_text(figure.growth.each)
        grows = f"n^{figure.growth.exponent:.2f}, {each} {figure.unit} each"
    return (
        figure.name,
        f"{number_text(median(figure.measured))} {figure.unit}".strip(),
        f"{number_text(median(figure.floor))} {figure.unit}".strip(),
        f"{number_text(median(figure.relative), sign)} {unit}".strip(),
        f"{number_text(low)} to {number_text(high)}",
        _goal_text(figure, figure.goal) if figure.goal else "",
        missed,
        grows,
        figure.floor_name,
    )


def _goal_text(figure: Figure, goal: Goal) -> str:
    bound = ">=" if goal.at_least else "<="
    unit = figure.unit if goal.of_measured or figure.relation == "difference" else "x"
    return f"{bound} {number_text(goal.limit)} {unit}".strip()


def number_text(value: float, sign: str = "") -> str:
    """A number with about three digits, without an exponent unless it is tiny."""
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    if size >= 100:
        return f"{value:{sign},.0f}"
    if size >= 10:
        return f"{value:{sign}.1f}"
    if size >= 1:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.3g}"


def record(figures: Sequence[Figure], effort: str, others: float) -> dict[str, Any]:
    """The figures for JSON.

    Args:
        figures: the figures.
        effort: how much effort was made.
        others: the share of the cores that other processes took meanwhile.
    """
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _cpu_name(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "others": round(others, 4),
    }
    return {
        "schema": 1,
        "effort": effort,
        "machine": machine,
        "figures": [figure.record() for figure in figures],
    }


def json_text(figures: Sequence[Figure], effort: str, others: float) -> str:
    """The figures as JSON; a number that is not known is null."""
    return encode_indented(record(figures, effort, others)).decode()


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
