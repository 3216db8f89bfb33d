"""The layout of torchbench's ddp_experiments.

It has a block for each model and a column for each number of nodes. A block has a row for each
backend: first those without DDP's graph breaks, then those with them. If combinations differ in
other settings too, these settings are part of the block's title.
"""

from ..model import NODES, Row, Rows
from .settings import NOTHING, Layout, Place, axes, differing, setting_of

BACKEND, BREAKS, MODEL = "backend", "breaks", "model"
OPTIONS = {BACKEND: "compile", BREAKS: "optimize_ddp", MODEL: "group"}  # without a matrix
WITH = ("with", "w/", "yes", "on", "true", "ddp_optimizer")
WITHOUT = ("without", "wo/", "no", "off", "false", "no_optimization")
WITHOUT_BREAKS = ("", "wo/breaks")


def fits(table: Rows) -> bool:
    """Whether a sweep varies the nodes, and also the backends or the breaks."""
    found = axes(table)
    if BACKEND not in found and BREAKS not in found:
        return False
    return NODES in found or len({row.nodes for row in table}) > 1


def belongs(row: Row) -> bool:
    return bool(row.matrix) or setting_of(row, MODEL) != NOTHING


def layout(table: Rows, metric: str) -> Layout:
    table = list(filter(belongs, table))
    others = [key for key in differing(table) if key not in (*OPTIONS, NODES)]
    models = list(dict.fromkeys(_setting(row, MODEL) for row in table))
    backends = list(dict.fromkeys(map(_backend, table)))

    def place(row: Row) -> Place:
        titles = [_setting(row, MODEL)]
        for key in others:
            titles.append(f"{key} {setting_of(row, key)}")
        label = _backend(row), breaks(row)
        return ", ".join(titles), label, f"{row.nodes}_{metric}"

    def order(row: Row) -> tuple[int, ...]:
        model = models.index(_setting(row, MODEL))
        has_breaks = breaks(row) not in WITHOUT_BREAKS
        is_compiled = breaks(row) != ""
        return model, has_breaks, is_compiled, backends.index(_backend(row)), row.nodes

    return Layout(MODEL, (BACKEND, BREAKS), place, belongs, order, " ")


def breaks(row: Row) -> str:
    """``w/breaks`` or ``wo/breaks``; empty if the model is not compiled and so has no breaks."""
    found = _setting(row, BREAKS)
    if found.lower() in WITH:
        return "w/breaks"
    if found.lower() in WITHOUT:
        return "wo/breaks"
    return "" if found == NOTHING else found


def _backend(row: Row) -> str:
    found = _setting(row, BACKEND)
    return "none" if found == NOTHING else found


def _setting(row: Row, name: str) -> str:
    found = setting_of(row, name)
    return setting_of(row, OPTIONS[name]) if found == NOTHING else found
