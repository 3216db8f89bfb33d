import re

import pytest

from milabench_ddp.report.charts.theme import (
    DARK,
    DARK_HEATS,
    DASHES,
    HEATS,
    LIGHT,
    MARKERS,
    SERIES,
    TEXTURES,
    page_style,
    style,
    textures,
    variables,
)
from tests.support.svg import parsed

THEMES = {"light": LIGHT, "dark": DARK}


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
    colours = THEMES[name]
    for text in ("ink", "muted"):
        assert contrast(colours[text], colours["paper"]) >= 4.5
        assert contrast(colours[text], colours["shade"]) >= 4.5
    for index in range(SERIES):
        assert contrast(colours[f"line{index}"], colours["paper"]) >= 3


@pytest.mark.parametrize("name", THEMES)
def test_numbers_can_be_read_on_each_colour_of_a_heat_map(name: str) -> None:
    colours = THEMES[name]
    for heat in range(HEATS):
        text = colours["heat0"] if heat >= DARK_HEATS else colours["heat6"]
        assert contrast(text, colours[f"heat{heat}"]) >= 4.5
    steps = [luminance(colours[f"heat{heat}"]) for heat in range(HEATS)]
    assert steps == sorted(steps, reverse=name == "light")


def test_nothing_is_told_by_its_colour_alone() -> None:
    assert len(set(MARKERS)) == len(set(DASHES)) == SERIES == len(MARKERS)
    items = [name for name in TEXTURES if name not in ("rate", "unsteady")]
    plain = [name for name in items if not TEXTURES[name]]
    textured = [TEXTURES[name] for name in items if TEXTURES[name]]
    assert len(set(textured)) == len(textured)
    # two are plain, one light and one dark
    one, other = plain
    assert contrast(LIGHT[one], LIGHT[other]) >= 3


def test_a_page_can_set_each_colour() -> None:
    asked = set(re.findall(r"var\(--chart-([\w]+)\)", page_style()))
    for colours in THEMES.values():
        assert set(colours) == set(LIGHT)
        assert asked <= set(re.findall(r"--chart-(\w+):#[0-9a-f]{6};", variables(colours)))


def test_the_style_has_no_place_left_to_fill_in() -> None:
    assert "$" not in style(LIGHT)
    assert "var(" not in style(LIGHT)
    assert {pattern.get("id") for pattern in parsed(textures()).root} == {
        f"chart-{name}" for name in TEXTURES
    }
