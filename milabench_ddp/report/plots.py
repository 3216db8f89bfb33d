"""The charts of a report as files for a paper: an SVG of each, and a PNG.

They are those of ``charts``, and the page's charts over time."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SelectionError, count_text, disk_errors
from ..files import whole_file
from .model import Report
from .replaceable import check_replaceable, refuse

if TYPE_CHECKING:
    from .charts.chart import Chart

WIDTH = 520.0  # at the width of a column, 85 mm, its text is 6 points high
SCALE = 3  # pixels of a PNG for each unit of the SVG: 460 dots per inch in such a column
LONGEST = 100  # characters of a file's name
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MARK = '<svg class="chart" role="img"'  # of every file
NO_PNG = "no PNG: it takes cairosvg, pip install 'milabench_ddp[plots]', and the library libcairo2"


def write_charts(report: Report, folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write the charts of benchmarks; returns sentences on what was written.

    Args:
        folder: where to; it is made if it is not there.

    Raises:
        SelectionError: nothing that was asked for can be drawn.
        RunDirError: a file cannot be written.
    """
    # imported here because few reports are drawn, and it takes long to import
    from .charts.catalogue import charts_of
    from .course_charts import course_charts

    charts = [*charts_of(report), *course_charts(report)]
    if not charts:
        raise SelectionError("--plots: no benchmark that was asked for has anything to draw")
    return write_files(charts, folder, overwrite=overwrite)


def write_files(charts: "Sequence[Chart]", folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write charts to a folder, which is made if it is not there; returns sentences on it.

    Raises:
        RunDirError: a file cannot be written, or milabench did not write it (see ``overwrite``).
    """
    try:
        from cairosvg import svg2png
    except (ImportError, OSError):  # OSError: cairosvg is there, and the library is not
        svg2png = None
    files = {folder / f"{name}.svg": chart for name, chart in named(charts).items()}
    for path in () if overwrite else files:
        check_replaceable(path, MARK)
        png = path.with_suffix(".png")  # counts with its SVG
        if svg2png and png.is_file() and not path.is_file():
            refuse(png)
    with disk_errors("write to", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path, chart in files.items():
            svg = chart.file(WIDTH).encode()
            with whole_file(path) as part:
                part.write_bytes(svg)
            if svg2png:
                with whole_file(path.with_suffix(".png")) as part:
                    part.write_bytes(svg2png(svg, scale=SCALE))
    said = [f"{count_text(len(charts), 'chart')} in {folder}"]
    return said if svg2png else [*said, NO_PNG]


def named(charts: "Iterable[Chart]") -> "dict[str, Chart]":
    found: dict[str, Chart] = {}
    taken: set[str] = set()
    for chart in charts:
        words = chart.subject, chart.kind, chart.part
        safe = [_UNSAFE.sub("-", word).strip("-.") for word in words]
        first = ".".join(filter(None, [safe[0][:LONGEST], *safe[1:]]))[-2 * LONGEST :]
        name, count = first, 1
        while name.casefold() in taken:
            count += 1
            name = f"{first}-{count}"
        taken.add(name.casefold())
        found[name] = chart
    return found
