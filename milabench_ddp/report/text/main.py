"""The main table as the text report shows it: what a reader looks for first, and nothing empty."""

from ...table import Table, only_columns, without_unknown

ORDER = (
    *("benchmark", "fail", "n", "ngpu", "perf", "unit", "drift"),
    *("ms", "p95 ms", "MFU", "data", "compute", "exposed", "optimizer", "host"),
    *("std%", "sem%", "peak_memory", "score", "weight", "SM MHz", "held down by"),
)
# where not all have room, those that come first stay
STAY = (
    *("fail", "perf", "unit", "ms", "MFU", "n", "drift", "ngpu", "exposed", "peak_memory"),
    *("held down by", "p95 ms", "data", "compute", "optimizer", "host"),
    *("std%", "SM MHz", "score", "weight", "sem%"),
)
SAYS_NOTHING = {"fail": 0.0, "weight": 1.0}  # a column with this value in all rows


def compact(table: Table) -> Table:
    """The columns of the main table that tell something, in the order of the text report."""
    names = [column.name for column in table.columns]
    kept = []
    for name in sorted(names, key=ORDER.index):
        index = names.index(name)
        values = [row[index] for row in table.rows]
        is_default = name in SAYS_NOTHING and set(values) == {SAYS_NOTHING[name]}
        is_perf = name == "score" and values == [row[names.index("perf")] for row in table.rows]
        if not is_default and not is_perf:
            kept.append(index)
    return without_unknown(only_columns(table, kept))
