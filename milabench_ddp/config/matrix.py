"""``matrix`` and ``job``: one entry becomes a benchmark for each combination."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from ..errors import ConfigError, SelectionError
from .checks import as_mapping
from .limits import BENCHMARKS
from .merge import merge_benchmark
from .mistakes import Apart, MistakeError, keep
from .placeholders import Values, fill, fill_scalar
from .tree import (
    Entries,
    ListNode,
    Location,
    MappingNode,
    Origin,
    Scalar,
    ScalarNode,
    TreeNode,
    finalize,
    from_plain,
    items_of,
    map_scalars,
)
from .yaml_reader import SizeBudget

NODES_AXIS = "nodes"


def with_node_counts(entries: Entries, counts: Sequence[int]) -> Entries:
    """Give every matrix that has the axis ``nodes`` these values, as ``--nodes 4,2,1`` asks.

    Raises SelectionError if there are several counts and no such matrix.
    """
    changed = dict(entries)
    if not counts:
        return changed
    axis = from_plain(counts, Origin("--nodes"))
    for name, entry in entries.items():
        matrix = entry.mapping("matrix")
        if NODES_AXIS in matrix.entries and "job" in entry.entries:
            matrix = matrix.with_entries({NODES_AXIS: axis})
            changed[name] = entry.with_entries({"matrix": matrix})
    if len(counts) > 1 and changed == entries:
        raise SelectionError(
            f"--nodes {','.join(map(str, counts))}: no benchmark is a matrix over `{NODES_AXIS}`: "
            f"give one number of nodes, or add `matrix: {{{NODES_AXIS}: [...]}}` and a `job`"
        )
    return changed


def expand(entries: Entries) -> Entries:
    """Replace every entry that has a ``job`` by a benchmark for each combination, in its place.

    Each ``{axis}`` in the strings of the job is replaced by its value; a value that is the whole
    string keeps its type. Other placeholders are left for later. Raises ConfigError if two
    benchmarks get the same name.
    """
    expanded: dict[str, MappingNode] = {}
    budget = SizeBudget()
    for name, entry in entries.items():
        with Apart():
            for variant, body in _variants(name, entry):
                budget.take_all(body)
                if len(expanded) == BENCHMARKS:
                    raise ConfigError(
                        f"`{name}` in {entry.origin}: a suite has at most {BENCHMARKS:,} "
                        "benchmarks and templates: make several"
                    )
                if variant in expanded:
                    # The name to change is the one in the matrix's job.
                    origin = body.origin if "job" in entry.entries else expanded[variant].origin
                    raise MistakeError(
                        f"two benchmarks are named `{variant}`: the name in {origin} must differ "
                        "for each combination",
                        origin,
                    )
                expanded[variant] = body
    return expanded


def _variants(name: str, entry: MappingNode) -> Iterator[tuple[str, MappingNode]]:
    """The name and the entry of each combination; the entry itself without a job."""
    if "job" not in entry.entries:
        matrix = entry.mapping("matrix")
        # In the output of `resolve`, `matrix` records one combination, without lists.
        if any(isinstance(node, ListNode) for node in matrix.entries.values()):
            said = f"the `matrix` in {matrix.origin} has no `job` to expand"
            raise MistakeError(f"{said}: put the keys of its benchmarks into one", matrix.origin)
        yield name, entry
        return
    for key in entry.without("matrix", "job").entries:
        origin = entry.entries[key].origin
        message = f"key `{key}` in {origin} stands beside `job`: put it inside `job`"
        keep(MistakeError(message, origin, key))
    job = as_mapping("job", entry.entries["job"])
    axes = _axes(name, entry)
    pattern = job.text("name")
    if not pattern:
        places = "".join(f"-{{{axis}}}" for axis in axes)
        raise MistakeError(
            f"the `job` in {job.origin} needs a `name`, such as `bench{places}`", job.origin
        )
    body = job.without("name")
    for choice in product(*axes.values()):
        combination = dict(zip(axes, choice, strict=True))
        values: dict[str, Scalar | TreeNode] = {}
        for axis, node in combination.items():
            values[axis] = node.value if isinstance(node, ScalarNode) else node
        record: dict[str, TreeNode] = {
            "matrix": MappingNode(combination, job.origin),
            "sweep": ScalarNode(name, job.origin),
        }
        filled = as_mapping("job", map_scalars(body, partial(_filled, values)))
        variant = merge_benchmark(filled, MappingNode(record, job.origin))
        variant_name = fill(pattern, values, job.entries["name"].origin, is_last=True)
        yield variant_name, variant


def _axes(name: str, entry: MappingNode) -> Mapping[str, Sequence[TreeNode]]:
    if "matrix" not in entry.entries:
        raise MistakeError(
            f"`{name}` in {entry.origin} has a `job` but no `matrix`", entry.entries["job"].origin
        )
    matrix = finalize(as_mapping("matrix", entry.entries["matrix"]))
    axes = {}
    for axis, node in matrix.entries.items():
        axes[axis] = items_of(node)
        if not axes[axis]:
            raise MistakeError(
                f"the axis `{axis}` in {node.origin} has no value", node.origin, axis
            )
    return axes


def _filled(values: Values, scalar: ScalarNode, _: Location) -> TreeNode:
    return fill_scalar(scalar, values, is_last=False)
