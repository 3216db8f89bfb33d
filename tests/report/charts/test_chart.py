from markupsafe import Markup
from msgspec.structs import replace

from milabench_ddp.report.charts.chart import HEADING, MARGIN, Chart
from milabench_ddp.report.charts.svg import Drawing
from milabench_ddp.report.charts.theme import PAGE_STYLE, colours
from milabench_ddp.table import Table
from tests.support.svg import parsed

SVG = "{http://www.w3.org/2000/svg}"


def draw(width: float) -> Drawing:
    return Drawing(100.0, Markup(f'<text x="{width:g}" y="10">drawn</text>'))


CHART = Chart("heat_maps", "gpt", "latency", "Time & place", "It is short.", draw, Table((), ()))


def test_a_chart_is_named_by_what_it_is_about() -> None:
    others = [replace(CHART, **{name: "other"}) for name in ("kind", "subject", "part", "title")]
    assert len({chart.id for chart in (CHART, *others)}) == 5
    assert replace(CHART, description="other").id == CHART.id
    assert CHART.id.startswith("chart-heat-maps-")


def test_a_page_gets_the_drawing_with_its_title_and_description() -> None:
    svg = parsed(CHART.svg(320.0))
    assert [element.text for element in svg.root] == ["Time & place", "It is short.", "drawn"]
    assert svg.root.get("viewBox") == "0 0 320 100"
    (drawn,) = svg.root.iter("text")
    assert drawn.get("x") == "320"


def test_a_file_has_a_heading_and_paper_of_the_light_theme_around_the_drawing() -> None:
    root = parsed(CHART.file(320.0)).root
    assert [text.text for text in root.iter(f"{SVG}text")] == ["Time & place", "drawn"]
    assert root.get("width") == f"{320 + 2 * MARGIN:g}"
    assert root.get("height") == f"{100 + HEADING + 2 * MARGIN:g}"
    paper = colours(PAGE_STYLE.partition("@media")[0])["paper"]
    assert [path.get("fill") for path in root.findall(f"{SVG}path")] == [paper]
