import re

import pytest

from milabench_ddp.report.charts.svg import SIZE
from milabench_ddp.report.charts.theme import (
    AREAS,
    DARK_HEATS,
    HEATS,
    MARKERS,
    PAGE_STYLE,
    SERIES,
    TEXTURES,
    colours,
    paper_style,
)
from tests.support.svg import parsed

LIGHT = colours(PAGE_STYLE.partition("@media")[0])
THEMES = {"light": LIGHT, "dark": colours(PAGE_STYLE)}
TEXTURE_OF = {
    pattern.get("id", "").removeprefix("chart-"): [path.get("d") for path in pattern.iter("path")]
    for pattern in parsed(TEXTURES).root
}


def luminance(colour: str) -> float:
    """The relative luminance, as in WCAG 2."""
    total = 0.0
    for weight, k in ((0.2126, 1), (0.7152, 3), (0.0722, 5)):
        part = int(colour[k : k + 2], 16) / 255
        total += weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
    return total


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_text_and_lines_stand_out_from_the_paper(name: str) -> None:
    found = THEMES[name]
    for text in ("ink", "muted"):
        assert contrast(found[text], found["paper"]) >= 4.5
        assert contrast(found[text], found["shade"]) >= 4.5
    for index in range(SERIES):
        assert contrast(found[f"line{index}"], found["paper"]) >= 3


@pytest.mark.parametrize("name", THEMES)
def test_numbers_can_be_read_on_each_colour_of_a_heat_map(name: str) -> None:
    found = THEMES[name]
    for heat in range(HEATS):
        text = found["heat0"] if heat >= DARK_HEATS else found["heat6"]
        assert contrast(text, found[f"heat{heat}"]) >= 4.5
    steps = [luminance(found[f"heat{heat}"]) for heat in range(HEATS)]
    assert steps == sorted(steps, reverse=name == "light")


def test_nothing_is_told_by_its_colour_alone() -> None:
    dashes = re.findall(r"line\d\{stroke:var\(--chart-line\d\)(.*)\}", PAGE_STYLE)
    assert len(set(MARKERS)) == len(set(dashes)) == SERIES == len(MARKERS) == len(dashes)
    items = [name for name in AREAS if name not in ("rate", "unsteady")]
    plain = [name for name in items if not TEXTURE_OF[name]]
    textured = [TEXTURE_OF[name] for name in items if TEXTURE_OF[name]]
    assert all(textured.count(texture) == 1 for texture in textured)
    # two are plain, one light and one dark
    one, other = plain
    assert contrast(LIGHT[one], LIGHT[other]) >= 3


def test_each_theme_has_each_colour_that_is_asked_for() -> None:
    asked = set(re.findall(r"var\(--chart-(\w+)\)", PAGE_STYLE))
    assert asked == set(LIGHT) == set(THEMES["dark"])
    for theme in THEMES.values():
        for name in asked - {"font"}:
            assert re.fullmatch("#[0-9a-f]{6}", theme[name])
    assert set(AREAS) < asked
    assert f"font-size:{SIZE:g}px" in PAGE_STYLE


def test_a_chart_on_paper_has_the_colours_of_the_light_theme() -> None:
    style = paper_style()
    assert "var(" not in style
    assert "@media" not in style
    assert f".chart .line0{{stroke:{LIGHT['line0']}}}" in style
