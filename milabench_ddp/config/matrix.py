"""``matrix`` and ``job``: one entry becomes a benchmark for each combination."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from ..errors import ConfigError, SelectionError
from .limits import BENCHMARKS
from .merge import merge_benchmark
from .placeholders import fill, names_in, only_name
from .read import Room
from .tree import (
    Entries,
    ListNode,
    Location,
    MappingNode,
    Origin,
    ScalarNode,
    TreeNode,
    describe_value,
    finalize,
    map_scalars,
    scalar_text,
    to_plain,
)
from .validate import as_mapping

NODES_AXIS = "nodes"

Combination = Mapping[str, TreeNode]  # a value for each axis


def with_node_counts(entries: Entries, counts: Sequence[int]) -> Entries:
    """Give every matrix that has the axis ``nodes`` these values, as ``--nodes 4,2,1`` asks.

    Raises SelectionError if there are several counts and no such matrix.
    """
    changed = dict(entries)
    if not counts:
        return changed
    origin = Origin("--nodes")
    axis = ListNode(tuple(ScalarNode(count, origin) for count in counts), origin)
    for name, entry in entries.items():
        matrix = entry.mapping("matrix")
        if matrix and NODES_AXIS in matrix.entries and "job" in entry.entries:
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
    sources: dict[str, str] = {}  # where each benchmark comes from, for messages
    room = Room()
    for name, entry in entries.items():
        for variant, body, source in _variants(name, entry):
            room.take_all(body, body.origin)
            if len(expanded) == BENCHMARKS:
                raise ConfigError(
                    f"`{name}` in {entry.origin}: a suite has at most {BENCHMARKS:,} benchmarks "
                    "and templates: make several"
                )
            if variant in expanded:
                # The name to change is the one in the matrix's job.
                origin = body.origin if "job" in entry.entries else expanded[variant].origin
                raise ConfigError(
                    f"two benchmarks are named `{variant}`: {sources[variant]} and {source}; "
                    f"the name in {origin} must differ for each combination"
                )
            expanded[variant] = body
            sources[variant] = source
    return expanded


def _variants(name: str, entry: MappingNode) -> Iterator[tuple[str, MappingNode, str]]:
    """The name, the entry and the source of each combination; the entry itself without a job."""
    if "job" not in entry.entries:
        matrix = entry.mapping("matrix")
        # In the output of `resolve`, `matrix` records one combination, without lists.
        if matrix and any(isinstance(node, ListNode) for node in matrix.entries.values()):
            raise ConfigError(f"the `matrix` in {matrix.origin} has no `job` to expand")
        yield name, entry, f"the benchmark in {entry.origin}"
        return
    for key in entry.entries.keys() - {"matrix", "job"}:
        raise ConfigError(
            f"key `{key}` in {entry.entries[key].origin} stands beside `job`: put it inside `job`"
        )
    job = _part(entry, "job", name)
    axes = _axes(finalize(_part(entry, "matrix", name)))
    if not job.text("name"):
        places = "".join(f"-{{{axis}}}" for axis in axes)
        raise ConfigError(f"the `job` in {job.origin} needs a `name`, such as `bench{places}`")
    body = job.without("name")
    count = 1
    for choices in axes.values():
        count *= len(choices)
        if count > BENCHMARKS:
            raise ConfigError(
                f"the `matrix` of `{name}` in {entry.entries['matrix'].origin} has more than "
                f"{BENCHMARKS:,} combinations: give its axes fewer values"
            )
    for values in product(*axes.values()):
        combination = dict(zip(axes, values, strict=True))
        filled = map_scalars(body, partial(_filled_scalar, combination))
        assert isinstance(filled, MappingNode)
        matrix = MappingNode(combination, job.origin)
        record = MappingNode({"matrix": matrix, "sweep": ScalarNode(name, job.origin)}, job.origin)
        variant = merge_benchmark(filled, record)
        origin = job.entries["name"].origin
        variant_name = _filled(job.text("name"), combination, origin, is_last=True)
        yield variant_name, variant, f"{name} {_shown(combination)}"


def _part(entry: MappingNode, key: str, name: str) -> MappingNode:
    if key not in entry.entries:
        raise ConfigError(f"`{name}` in {entry.origin} has a `job` but no `{key}`")
    return as_mapping(key, entry.entries[key])


def _axes(matrix: MappingNode) -> dict[str, tuple[TreeNode, ...]]:
    axes = {}
    for name, node in matrix.entries.items():
        axes[name] = node.items if isinstance(node, ListNode) else (node,)
        if not axes[name]:
            raise ConfigError(f"the axis `{name}` in {node.origin} has no value")
    return axes


def _filled_scalar(combination: Combination, scalar: ScalarNode, _: Location) -> TreeNode:
    if not isinstance(scalar.value, str):
        return scalar
    node = combination.get(only_name(scalar.value) or "")
    if isinstance(node, ScalarNode):
        return ScalarNode(node.value, scalar.origin)
    if node is not None:
        return node
    text = _filled(scalar.value, combination, scalar.origin, is_last=False)
    return ScalarNode(text, scalar.origin)


def _filled(text: str, combination: Combination, origin: Origin, *, is_last: bool) -> str:
    """The text with the values of the axes in it; see ``placeholders.fill``."""
    values = {}
    for axis, node in combination.items():
        if isinstance(node, ScalarNode):
            values[axis] = node.value
        elif axis in names_in(text):
            raise ConfigError(
                f"`{{{axis}}}` in {origin} stands for {describe_value(node)}, "
                "which must be the whole value and not a part of it"
            )
    return fill(text, values, origin, is_last=is_last)


def _shown(combination: Combination) -> str:
    values = []
    for axis, node in combination.items():
        value = scalar_text(node.value) if isinstance(node, ScalarNode) else to_plain(node)
        values.append(f"{axis}: {value}")
    return "{" + ", ".join(values) + "}"
