"""How charts look, for the light, the dark, and for paper: ``theme.css`` and ``textures.svg``.

A chart has classes alone. A page takes ``PAGE_STYLE`` and ``TEXTURES`` once; a file of its own has
both inside, with the colours of the light theme.
"""

import re
from pathlib import Path

from markupsafe import Markup

_HERE = Path(__file__).parent
PAGE_STYLE = (_HERE / "theme.css").read_text("utf-8")
_TEXTURES = (_HERE / "textures.svg").read_text("utf-8")
TEXTURES = Markup("".join(map(str.strip, _TEXTURES.splitlines())))
AREAS = re.findall(r'id="chart-(\w+)"', TEXTURES)  # those that have a texture
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


def colours(theme: str) -> dict[str, str]:
    return dict(re.findall(r"--chart-(\w+): (.*);", theme))


def paper_style() -> str:
    light, _, rules = PAGE_STYLE.partition("@media")
    values = {**colours(light), "font": "sans-serif"}
    rules = rules[rules.index(".chart{") :]
    return re.sub(r"var\(--chart-(\w+)\)", lambda found: values[found[1]], rules)
