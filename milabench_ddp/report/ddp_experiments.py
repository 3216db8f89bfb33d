"""The layout of torchbench's ddp_experiments.

For each model a block; in it a row for each backend without DDP's graph breaks, then those with
them; a column for each number of nodes. Other settings in which points differ join the model.
"""

from collections.abc import Sequence

from .layout import At, Layout
from .model import Row
from .settings import NODES, NOTHING, differing, matrix, node_count, setting

BACKEND, BREAKS, MODEL = "backend", "breaks", "model"
OPTIONS = {BACKEND: "compile", BREAKS: "optimize_ddp"}  # of the programs, where no matrix says it
WITH = ("with", "w/", "yes", "on", "true", "ddp_optimizer")
WITHOUT = ("without", "wo/", "no", "off", "false", "no_optimization")


def fits(table: Sequence[Row]) -> bool:
    """Whether a sweep is one over nodes, and over backends or breaks."""
    axes = {key for row in table for key in matrix(row)}
    over_nodes = NODES in axes or len(set(map(node_count, table))) > 1
    return over_nodes and bool(axes & {BACKEND, BREAKS})


def belongs(row: Row) -> bool:
    """Whether a benchmark is part of the sweep, and not, say, the peak of matrix products."""
    return bool(matrix(row)) or setting(row, MODEL) != NOTHING


def layout(table: Sequence[Row], metric: str) -> Layout:
    """The layout of a sweep that ``fits``."""
    table = list(filter(belongs, table))
    others = [key for key in differing(table) if key not in (BACKEND, BREAKS, MODEL, NODES)]
    models = list(dict.fromkeys(map(_model, table)))
    backends = list(dict.fromkeys(_backend(row) for row in table))

    def at(row: Row) -> At:
        title = ", ".join([_model(row), *(f"{key} {setting(row, key)}" for key in others)])
        return title, (_backend(row), breaks(row)), f"{node_count(row)}_{metric}"

    def order(row: Row) -> tuple[int, ...]:
        with_breaks = (
            ("", "wo/breaks").index(breaks(row)) if breaks(row) in ("", "wo/breaks") else 2
        )
        return (
            models.index(_model(row)),
            with_breaks,
            backends.index(_backend(row)),
            node_count(row),
        )

    return Layout(MODEL, (BACKEND, BREAKS), at, belongs, order, " ")


def breaks(row: Row) -> str:
    """``w/breaks`` or ``wo/breaks``; empty where nothing is compiled, so that there are none."""
    said = _said(row, BREAKS)
    if said.lower() in WITH:
        return "w/breaks"
    if said.lower() in WITHOUT:
        return "wo/breaks"
    return "" if said == NOTHING else said


def _backend(row: Row) -> str:
    said = _said(row, BACKEND)
    return "none" if said == NOTHING else said


def _said(row: Row, name: str) -> str:
    found = setting(row, name)
    return setting(row, OPTIONS[name]) if found == NOTHING else found


def _model(row: Row) -> str:
    found = setting(row, MODEL)
    return setting(row, "group") if found == NOTHING else found
