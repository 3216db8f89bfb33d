"""How charts look: colours, textures and markers, for the light, the dark, and for paper.

Colour is never alone: each line has a marker and a dash of its own, each area a texture. The hues
of the areas are those of M. Okabe and K. Ito, "Color universal design" (2008), which people who
confuse red and green can tell apart; those of the lines are darker, for thin lines on white.

A chart has classes alone. A page takes ``page_style`` and ``textures`` once; a file of its own has
both inside, with the colours of the light theme.
"""

from collections.abc import Mapping
from string import Template

from .svg import SIZE, element, text

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
LIGHT: Mapping[str, str] = {
    "ink": "#1a1a1a",
    "muted": "#595959",
    "grid": "#dcdcdc",
    "paper": "#ffffff",
    "shade": "#ececec",
    "texture": "#1a1a1a",
    "line0": "#0072b2",
    "line1": "#c44e00",
    "line2": "#007a5e",
    "line3": "#a8458a",
    "line4": "#806000",
    "line5": "#3d3d3d",
    "line6": "#5a63c8",
    "line7": "#2a7f92",
    "rate": "#9fd3f2",
    "unsteady": "#ececec",
    "data": "#e69f00",
    "forward": "#9fd3f2",
    "backward": "#0072b2",
    "optimizer": "#5cc0a0",
    "host": "#f0e442",
    "communication": "#f09a66",
    "bubble": "#dfa9c6",
    "waiting": "#c9c9c9",
    "jitter": "#8a8a8a",
    "heat0": "#f2f7fc",
    "heat1": "#d3e4f3",
    "heat2": "#a9cde6",
    "heat3": "#6aaed6",
    "heat4": "#2171b5",
    "heat5": "#0f57a0",
    "heat6": "#083a7a",
}
DARK: Mapping[str, str] = {
    **LIGHT,
    "ink": "#ededed",
    "muted": "#b4b4b4",
    "grid": "#404040",
    "paper": "#161616",
    "shade": "#2b2b2b",
    "texture": "#101010",
    "line0": "#5eb3e8",
    "line1": "#ff9a57",
    "line2": "#4cc9a4",
    "line3": "#e08cc4",
    "line4": "#d9b84a",
    "line5": "#d0d0d0",
    "line6": "#a3aaf5",
    "line7": "#7fd0e0",
    "rate": "#2f6f99",
    "unsteady": "#2b2b2b",
    "backward": "#3d9bd8",
    "heat0": "#0d1a2b",
    "heat1": "#12304f",
    "heat2": "#164a78",
    "heat3": "#26659f",
    "heat4": "#5b9fd6",
    "heat5": "#9cc8ec",
    "heat6": "#dbebfa",
}
SERIES = 8  # lines that can be told apart
HEATS = 7
DARK_HEATS = 4  # from this one on, light text stands on it

MARKERS = (  # the paths of the lines' markers, from the middle of each
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-4.8l4.6 8.4h-9.2z",
    "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
    "m-4-4l8 8m0-8l-8 8",
    "m-5 0h10m-5-5v10",
    "m0 4.8l4.6-8.4h-9.2z",
    "m-4-4.4h8l-8 8.8h8z",
)
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 3", "6 2 2 2 2 2")

TEXTURES: Mapping[str, str] = {  # of the areas, as paths in a square of 8; empty for a plain one
    "rate": "",
    "unsteady": "M0 8L8 0h-.6L0 7.4zM8 8v-.6L7.4 8z",
    "data": "M1 1h1.5v1.5h-1.5zM5 5h1.5v1.5h-1.5z",
    "forward": "",
    "backward": "",
    "optimizer": "M0 2h8v.8h-8zM0 6h8v.8h-8z",
    "host": "M2 0v8h.8v-8zM6 0v8h.8v-8z",
    "communication": "M0 8L8 0h-1.2L0 6.8zM8 8v-1.2L6.8 8z",
    "bubble": "M0 2h8v.7h-8zM2 0v8h.7v-8z",
    "waiting": "M0 0L8 8v-1.2L1.2 0zM0 8v-1.2L1.2 8z",
    "jitter": "M1 1h2v2h-2zM5 1h2v2h-2zM1 5h2v2h-2zM5 5h2v2h-2z",
}

_RULES = """\
.chart{background:$paper}
.chart text{font-family:$font;font-size:${size}px;fill:$ink}
.chart .muted{fill:$muted}
.chart .heading{font-weight:bold}
.chart .grid{stroke:$grid;stroke-width:1;fill:none}
.chart .axis{stroke:$muted;stroke-width:1;fill:none}
.chart .shade{fill:$shade}
.chart .ideal{stroke:$muted;stroke-width:1.5;stroke-dasharray:3 3;fill:none}
.chart .whisker{stroke:$ink;stroke-width:1.3;fill:none}
.chart .area{stroke:$paper;stroke-width:.5}
.chart .texture{fill:$texture;fill-opacity:.55}
.chart .line{fill:none;stroke-width:1.7}
.chart .band{fill-opacity:.18;stroke:none}
.chart .marker{stroke-width:1.5}
.chart .on-dark{fill:$on_dark}
.chart .on-light{fill:$on_light}
"""


def style(colours: Mapping[str, str], font: str = FONT) -> str:
    """The rules of the classes, in CSS.

    Args:
        colours: the values of the names in ``LIGHT``.
        font: the families of the text.
    """
    rules = Template(_RULES).substitute(
        colours, font=font, size=f"{SIZE:g}", on_dark=colours["heat0"], on_light=colours["heat6"]
    )
    lines = [rules]
    for index, dash in enumerate(DASHES):
        colour = colours[f"line{index}"]
        dashed = f";stroke-dasharray:{dash}" if dash else ""
        lines.append(f".chart .line{index}{{stroke:{colour}{dashed}}}\n")
        lines.append(f".chart .marker{index}{{stroke:{colour};fill:{colour}}}\n")
        lines.append(f".chart .band{index}{{fill:{colour}}}\n")
    for name in TEXTURES:
        lines.append(f".chart .{name}{{fill:{colours[name]}}}\n")
    for index in range(HEATS):
        lines.append(f".chart .heat{index}{{fill:{colours[f'heat{index}']}}}\n")
    return "".join(lines)


def variables(colours: Mapping[str, str]) -> str:
    """The colours as declarations of CSS variables, for the rule of a page's theme."""
    return "".join(f"--chart-{name}:{value};" for name, value in colours.items())


def page_style() -> str:
    """The rules of the classes for a page, which declares the ``variables`` of its themes."""
    return style({name: f"var(--chart-{name})" for name in LIGHT})


def textures() -> str:
    """The textures of the areas, as the ``defs`` of an SVG of the class ``chart``."""
    patterns = []
    for name, drawn in TEXTURES.items():
        under = element("rect", class_=name, width=8, height=8)
        over = [element("path", class_="texture", d=drawn)] if drawn else []
        attributes = {"id": _texture(name), "patternUnits": "userSpaceOnUse"}
        patterns.append(element("pattern", under, *over, width=8, height=8, **attributes))
    return element("defs", *patterns)


def shape(kind: str, drawn: str, hint: str = "") -> str:
    """A path of one of ``TEXTURES``, or else of a class of the style.

    Args:
        kind: the name of the texture, or the class.
        drawn: the text of the path.
        hint: what a browser shows under the pointer.
    """
    title = [element("title", text(hint))] if hint else []
    if kind not in TEXTURES:
        return element("path", *title, class_=kind, d=drawn)
    return element("path", *title, class_="area", fill=f"url(#{_texture(kind)})", d=drawn)


def _texture(name: str) -> str:
    """The id of an area's texture: there is one of each in a page."""
    return f"chart-{name}"
