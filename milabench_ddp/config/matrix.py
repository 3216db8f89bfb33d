"""``matrix`` and ``job``: one entry becomes a benchmark for each combination."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from ..errors import ConfigError, did_you_mean
from .braces import fields, fill, only_field
from .merge import merge_benchmark, settle
from .tree import Items, Leaf, Node, Table, describe, map_leaves, plain, scalar_text

Point = Mapping[str, Node]


def expand(entries: Mapping[str, Table]) -> dict[str, Table]:
    """Replace every entry that has a ``job`` by its variants, in its place.

    ``{axis}`` is filled in in every string of the job; where it is the whole string the value keeps
    its type. Other placeholders are left for later. Raises ConfigError where names collide.
    """
    expanded: dict[str, Table] = {}
    points: dict[str, str] = {}
    for name, entry in entries.items():
        if "job" not in entry.entries:
            _check_point(entry)
            _add(expanded, points, name, entry, "")
            continue
        for variant, job, point in _variants(name, entry):
            _add(expanded, points, variant, job, f"{name} {_shown(point)}")
    return expanded


def _add(
    expanded: dict[str, Table], points: dict[str, str], name: str, entry: Table, point: str
) -> None:
    if name in expanded:
        first = points[name] or f"the benchmark in {expanded[name].origin}"
        second = point or f"the benchmark in {entry.origin}"
        where = entry.origin if point else expanded[name].origin
        raise ConfigError(
            f"two benchmarks are named `{name}`: {first} and {second}; "
            f"the name in {where} must differ for each combination"
        )
    expanded[name] = entry
    points[name] = point


def _check_point(entry: Table) -> None:
    """A matrix without a job records a point (as in what `resolve` prints): it holds no list."""
    matrix = entry.entries.get("matrix")
    if isinstance(matrix, Table) and any(isinstance(v, Items) for v in matrix.entries.values()):
        raise ConfigError(f"the `matrix` in {matrix.origin} has no `job` to expand")


def _variants(name: str, entry: Table) -> Iterator[tuple[str, Table, Point]]:
    for key in entry.entries.keys() - {"matrix", "job"}:
        raise ConfigError(
            f"key `{key}` in {entry.entries[key].origin} stands beside `job`: put it inside `job`"
        )
    job = _table(entry, "job", name)
    axes = _axes(settle(_table(entry, "matrix", name)))
    title = job.entries.get("name")
    if not (isinstance(title, Leaf) and isinstance(title.value, str) and title.value):
        raise ConfigError(f"the `job` in {job.origin} needs a `name`, such as `{_example(axes)}`")
    body = replace(job, entries={key: v for key, v in job.entries.items() if key != "name"})
    for values in product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        filled = map_leaves(body, partial(_fill, point))
        assert isinstance(filled, Table)
        record = Table({"matrix": Table(point, job.origin)}, job.origin)
        variant = merge_benchmark(filled, record)
        assert isinstance(variant, Table)
        yield _name(title, point), variant, point


def _table(entry: Table, key: str, name: str) -> Table:
    node = entry.entries.get(key)
    if node is None:
        raise ConfigError(f"`{name}` in {entry.origin} has a `job` but no `{key}`")
    if not isinstance(node, Table):
        raise ConfigError(
            f"wrong value for `{key}` in {node.origin}: expected a mapping, got {describe(node)}"
        )
    return node


def _axes(matrix: Table) -> dict[str, tuple[Node, ...]]:
    axes = {
        name: node.items if isinstance(node, Items) else (node,)
        for name, node in matrix.entries.items()
    }
    for name, values in axes.items():
        if not values:
            raise ConfigError(f"the axis `{name}` in {matrix.entries[name].origin} has no value")
    return axes


def _name(title: Leaf, point: Point) -> str:
    text = str(title.value)
    for field in fields(text):
        if field not in point:
            hint = did_you_mean(field, point)
            raise ConfigError(f"unknown placeholder `{{{field}}}` in {title.origin}{hint}")
    return fill(text, lambda field: _text(field, point[field], title), unescape=True)


def _fill(point: Point, leaf: Leaf) -> Node:
    if not isinstance(leaf.value, str):
        return leaf
    whole = only_field(leaf.value)
    if whole is not None and whole in point:
        node = point[whole]
        return Leaf(node.value, leaf.origin) if isinstance(node, Leaf) else node

    def value(field: str) -> str | None:
        return _text(field, point[field], leaf) if field in point else None

    return Leaf(fill(leaf.value, value, unescape=False), leaf.origin)


def _text(field: str, node: Node, leaf: Leaf) -> str:
    if not isinstance(node, Leaf):
        raise ConfigError(
            f"`{{{field}}}` in {leaf.origin} stands for {describe(node)}, "
            "which must be the whole value and not a part of it"
        )
    return scalar_text(node.value)


def _shown(point: Point) -> str:
    values = (
        f"{k}: {scalar_text(v.value) if isinstance(v, Leaf) else plain(v)}"
        for k, v in point.items()
    )
    return "{" + ", ".join(values) + "}"


def _example(axes: Mapping[str, object]) -> str:
    return "-".join(["bench", *(f"{{{axis}}}" for axis in axes)])
