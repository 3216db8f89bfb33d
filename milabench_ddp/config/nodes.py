"""``--nodes 4,2,1``: the node counts of a sweep, in place of those that a matrix lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import SelectionError
from .tree import Items, Leaf, Origin, Table

AXIS = "nodes"


def with_nodes(entries: Mapping[str, Table], counts: Sequence[int]) -> dict[str, Table]:
    """Give every matrix that has the axis ``nodes`` these values.

    Raises SelectionError where there are several counts, and no matrix to take them.
    """
    if not counts:
        return dict(entries)
    origin = Origin("--nodes")
    values = Items(tuple(Leaf(count, origin) for count in counts), origin)
    changed = dict(entries)
    for name, entry in entries.items():
        matrix = entry.entries.get("matrix")
        if "job" in entry.entries and isinstance(matrix, Table) and AXIS in matrix.entries:
            axes = replace(matrix, entries={**matrix.entries, AXIS: values})
            changed[name] = replace(entry, entries={**entry.entries, "matrix": axes})
    if len(counts) > 1 and changed == dict(entries):
        raise SelectionError(
            f"--nodes {','.join(map(str, counts))}: no benchmark is a matrix over `{AXIS}`: "
            f"give one number of nodes, or add `matrix: {{{AXIS}: [...]}}` and a `job`"
        )
    return changed
