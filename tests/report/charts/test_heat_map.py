import math

from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.charts.heat_map import UNKNOWN, HeatCell, HeatMap, heat_of
from milabench_ddp.report.charts.theme import HEATS
from milabench_ddp.report.statistics.values import known
from tests.support.svg import check_fits, drawn

CELL = st.builds(HeatCell, st.floats(), st.text(max_size=9))


@st.composite
def maps(draw: st.DrawFn) -> HeatMap:
    down, across = draw(st.integers(0, 5)), draw(st.integers(0, 30))
    names = st.text(max_size=40)
    row = st.lists(CELL, min_size=across, max_size=across).map(tuple)
    return HeatMap(
        draw(names), draw(names), draw(names),
        tuple(draw(st.lists(names, min_size=down, max_size=down))),
        tuple(draw(st.lists(names, min_size=across, max_size=across))),
        tuple(draw(st.lists(row, min_size=down, max_size=down))),
    )  # fmt: skip


@settings(max_examples=40)
@given(maps(), st.floats(320, 1200))
def test_each_cell_is_drawn_once_inside(found: HeatMap, width: float) -> None:
    drawing = found.draw(width)
    check_fits(drawing, width)
    cells = 0
    for path in drawn(drawing).paths("area"):
        cells += sum(1 for place in path) // 5
        for x, y in path:
            assert -0.1 <= x <= width + 0.1
            assert -0.1 <= y <= drawing.height + 0.1
    known_ones = known(cell.value for row in found.cells for cell in row)
    assert cells == len(found.rows) * len(found.columns) + (HEATS if known_ones else 0)


@given(st.lists(st.floats(-1e90, 1e90), min_size=1))
def test_a_larger_value_is_no_lighter(values: list[float]) -> None:
    low, high = min(values), max(values)
    heats = [heat_of(value, low, high) for value in sorted(values)]
    assert heats == sorted(heats)
    assert heats[0] == 0
    assert set(heats) <= set(range(HEATS))


def test_what_is_not_known_has_no_colour() -> None:
    assert heat_of(math.nan, 1.0, 2.0) == UNKNOWN
    assert heat_of(math.inf, 1.0, 2.0) == UNKNOWN
    assert [heat_of(value, 1.0, 2.0) for value in (1.0, 2.0)] == [0, HEATS - 1]


def square(size: int) -> HeatMap:
    names = tuple(map(str, range(size)))
    row = tuple(HeatCell(float(k), str(k)) for k in range(size))
    return HeatMap("from", "to", "GB/s", names, names, (row,) * size)


def test_cells_have_numbers_where_there_is_room() -> None:
    assert (
        drawn(square(4).draw(640)).texts.count("3") == 4 + 2 + 1
    )  # cells, both names, and the key
    assert drawn(square(40).draw(640)).texts.count("38") == 0 + 2
