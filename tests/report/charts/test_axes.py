import pytest

from milabench_ddp.report.charts.axes import Axes, LegendEntry, Span, framed, labels
from milabench_ddp.report.charts.scale import Scale

X, Y = Scale((0.0, 5.0), ("0", "5")), Scale((0.0, 2.0), ("0", "2"))
AXES = Axes(10.0, 0.0, 100.0, 50.0, X, "x", Y, "y")


def test_values_have_places_from_the_lower_left_corner_on() -> None:
    assert AXES.place(0.0, 0.0) == (10.0, 50.0)
    assert AXES.place(5.0, 2.0) == (110.0, 0.0)
    assert AXES.line([(0.0, 0.0), (2.5, 1.0)]) == "M10 50L60 25"


def test_a_span_covers_the_whole_height() -> None:
    drawing = framed("axes.html", AXES, [Span("warm-up", 1.0, 3.0)], [], 640.0)
    assert '<path class="shade" d="M30 0h40v50h-40z"/>' in drawing.svg


@pytest.mark.parametrize(("room", "shown"), [(40.0, "a b c d"), (10.0, "a c"), (5.0, "a d")])
def test_only_names_that_have_room_are_shown(room: float, shown: str) -> None:
    found = labels(["a", "b", "c", "d"], [room * k for k in range(4)], room)
    assert " ".join(name for name, _ in found) == shown


def test_a_legend_has_as_many_columns_as_have_room() -> None:
    entries = [LegendEntry(name, "line line0") for name in "abc"]
    sizes = {framed("axes.html", AXES, [], entries, 10 + w).height for w in (90.0, 160.0, 640.0)}
    assert len(sizes) == 3
