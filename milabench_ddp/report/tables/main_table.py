"""The main table: a row for each benchmark, with the columns that ``fields`` declares."""

from typing import Any

from ...table import Column, Table, only_columns, table_from, without_exponent, without_unknown
from ..fields import MAIN, Field, ReportedBenchmark
from ..model import Report, Rows
from ..statistics.values import NAN

ZERO = 0.0005  # what is smaller would be 0.0%
TINY = 1e-6  # smaller numbers need no digits


class Rate(Column, frozen=True):
    """A column of rates, in which rates below 1 keep three digits."""

    def text(self, value: Any) -> str:
        if 0 < abs(value) < 1:
            return Column(self.name, "#.3g").text(value)
        return super().text(value)


class Share(Column, frozen=True):
    """A column of uncertainties in per cent, of which a known one is never shown as 0."""

    def text(self, value: Any) -> str:
        if not 0 < value < ZERO:
            return super().text(value)
        if value < TINY:
            return f"<{TINY:.4%}"
        return without_exponent(100 * value, ".1g") + "%"


# What milabench has, in its order
MILABENCH = ("name", "fail", "n", "ngpu", "perf", "sem", "std", "peak_memory", "score", "weight")
KINDS = {"perf": Rate, "score": Rate, "sem": Share, "std": Share}


def table_of(report: Report) -> Table:
    return milabench_table(report.rows) if report.compat else main_table(report.rows)


def main_table(rows: Rows) -> Table:
    """A row for each benchmark; of what milabench does not have, only what is known of any."""
    columns = []
    for each in MAIN:
        unknown = "-" if each.width else ""
        kind = KINDS.get(each.name, Column)
        columns.append(kind(each.heading, each.format, each.in_table, unknown=unknown))
    always = [each.heading for each in MAIN if each.name in (*MILABENCH, "unit")]
    table = table_from(columns, rows, notes=what_intervals_hold(rows))
    return without_unknown(table, names=always)


def milabench_table(rows: Rows) -> Table:
    by_name = {each.name: each for each in MAIN}
    columns = [_of_milabench(by_name[name]) for name in (*MILABENCH, "unit")]
    return without_unknown(table_from(columns, map(ReportedBenchmark, rows)), always=len(MILABENCH))


def compact(table: Table) -> Table:
    silent = {each.heading: each.silent for each in MAIN if each.silent is not None}
    names = table.names
    kept = []
    for index, name in enumerate(names):
        values = [row[index] for row in table.rows]
        is_default = name in silent and set(values) == {silent[name]}
        is_perf = name == "score" and values == [row[names.index("perf")] for row in table.rows]
        if not is_default and not is_perf:
            kept.append(index)
    return without_unknown(only_columns(table, kept))


def stay() -> list[str]:
    """The columns, in the order in which they stay where not all have room."""
    return [each.heading for each in sorted(MAIN[1:], key=lambda each: each.stays)]


def _of_milabench(each: Field) -> Column:
    if each.name == "name":
        return Column("bench", "", each.of)
    if each.width:
        format = f"{each.width}{each.format}"
        return Column(each.heading, format, each.of, unknown=f"{NAN:{format}}")
    return Column(each.heading, each.format, each.of, unknown="")


def what_intervals_hold(rows: Rows) -> tuple[str, ...]:
    known = [row for row in rows if row.interval is not None]
    single = [row.name for row in known if row.launches == 1]
    if not known:
        return ()
    if not single:
        return ("(± is over launches)",)
    of = "" if len(single) == len(known) else f" of {', '.join(single)}"
    over = "" if not of else "over launches, but "
    return (f"(± is {over}within the launch{of}: another launch can differ by more)",)
