"""Why a benchmark would not run."""

from .capability import judge as judge_condition
from .facts import MachineFacts
from .preset import Applied
from .program import program_leaf
from .schema import SkippedBenchmark
from .select import Selection
from .tree import Items, Leaf, Table, scalar_text


def judge(
    name: str, applied: Applied, selection: Selection, facts: MachineFacts
) -> SkippedBenchmark | None:
    """The first reason against running the benchmark, None where there is none.

    A benchmark that is switched off runs all the same where ``--select`` gives its very name.
    Raises ConfigError for a condition outside the grammar.
    """
    entry = applied.table
    if selection.excludes(name, entry):
        return SkippedBenchmark(name, "excluded by --exclude")
    if not selection.selects(name, entry):
        return SkippedBenchmark(name, "not selected by --select")
    reason = (
        (None if selection.insists(name) else _switched_off(applied))
        or ("has neither a `definition` nor a `program`" if not program_leaf(entry) else None)
        or _unmet_condition(entry, facts)
        or _too_few_nodes(entry, facts)
    )
    return SkippedBenchmark(name, reason) if reason else None


def _switched_off(applied: Applied) -> str | None:
    switch = applied.table.entries["enabled"]
    if not isinstance(switch, Leaf) or switch.value is not False:
        return None
    by_preset = applied.disables and switch.origin.line
    why = applied.table.entries.get("because")
    said = f": {why.value}" if isinstance(why, Leaf) else ""
    by = f" by the preset {applied.preset}" if by_preset else ""
    return f"disabled{by}{said} ({switch.origin})"


def _unmet_condition(entry: Table, facts: MachineFacts) -> str | None:
    conditions = entry.entries.get("requires_capabilities")
    for item in conditions.items if isinstance(conditions, Items) else ():
        assert isinstance(item, Leaf)
        verdict = judge_condition(str(item.value), facts, item.origin)
        if not verdict.holds:
            values = ", ".join(f"{k} is {scalar_text(v)}" for k, v in verdict.values.items())
            but = f", but {values}" if values else ""
            return f"needs {item.value}{but} ({item.origin})"
    return None


def _too_few_nodes(entry: Table, facts: MachineFacts) -> str | None:
    needed = entry.entries.get("num_machines")
    if not isinstance(needed, Leaf) or not isinstance(needed.value, int):
        return None
    if needed.value <= facts.node_count:
        return None
    there = "is 1" if facts.node_count == 1 else f"are {facts.node_count}"
    return f"needs {needed.value} nodes, but there {there} (num_machines in {needed.origin})"
