"""The charts of a report as files for a paper: an SVG of each, and a PNG.

They are those of ``charts``, and the page's charts over time."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import RunDirError, SelectionError
from ..files import whole_file
from .model import Report
from .order import is_selected
from .replaceable import check_replaceable, refuse

if TYPE_CHECKING:
    from .charts.chart import Chart

WIDTH = 520.0  # at the width of a column, 85 mm, its text is 6 points high
SCALE = 3  # pixels of a PNG for each unit of the SVG: 460 dots per inch in such a column
LONGEST = 100  # characters of a file's name
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MARK = '<svg class="chart" role="img"'  # of every file
NO_PNG = "no PNG: it takes cairosvg, pip install 'milabench_ddp[plots]', and the library libcairo2"


def write_charts(
    report: Report, select: Sequence[str], folder: Path, *, overwrite: bool = False
) -> list[str]:
    """Write the charts of benchmarks; returns sentences on what was written.

    Args:
        report: the report of the runs.
        select: names or globs of the benchmarks; empty for all.
        folder: where to; it is made if it is not there.
        overwrite: whether to replace files that milabench did not write.

    Raises:
        SelectionError: nothing that was asked for can be drawn.
        RunDirError: a file cannot be written.
    """
    # imported here because few reports are drawn, and it takes long to import
    from .charts.catalogue import charts_of
    from .course_charts import course_charts

    rows = (row for row in report.rows if is_selected(row.name, select))
    report = replace(report, rows=tuple(rows))
    charts = [*charts_of(report), *course_charts(report)]
    if not charts:
        raise SelectionError("--plots: no benchmark that was asked for has anything to draw")
    return write_files(charts, folder, overwrite=overwrite)


def write_files(charts: "Sequence[Chart]", folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write charts to a folder, which is made if it is not there; returns sentences on it.

    Raises:
        RunDirError: a file cannot be written, or milabench did not write it (see ``overwrite``).
    """
    to_png = _png_of()
    names = file_names(charts)
    if not overwrite:
        for name in names:
            _check(folder / f"{name}.svg", has_png=to_png is not None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for chart, name in zip(charts, names, strict=True):
            svg = chart.file(WIDTH)
            files = {".svg": svg.encode()}
            if to_png is not None:
                files[".png"] = to_png(svg)
            for suffix, content in files.items():
                with whole_file(folder / f"{name}{suffix}") as part:
                    part.write_bytes(content)
    except OSError as error:
        raise RunDirError(f"cannot write to {folder}: {error.strerror}") from error
    said = [f"{len(charts)} chart{'s' * (len(charts) != 1)} in {folder}"]
    return said if to_png else [*said, NO_PNG]


def _check(svg: Path, *, has_png: bool) -> None:
    """Raise RunDirError if milabench did not write a chart; a PNG counts with its SVG."""
    check_replaceable(svg, MARK)
    png = svg.with_suffix(".png")
    if has_png and png.is_file() and not svg.is_file():
        refuse(png)


def file_names(charts: "Iterable[Chart]") -> list[str]:
    """A name for each chart, by its benchmark and its kind: safe on any disk, each once."""
    taken: set[str] = set()
    names = []
    for chart in charts:
        words = [chart.subject, chart.kind, chart.part]
        safe = [_UNSAFE.sub("-", word).strip("-.") for word in words]
        first = ".".join(filter(None, [safe[0][:LONGEST], *safe[1:]]))[-2 * LONGEST :]
        name, count = first, 1
        while name.casefold() in taken:
            count += 1
            name = f"{first}-{count}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _png_of() -> Callable[[str], bytes] | None:
    """What makes a PNG of an SVG; None where it is not installed."""
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: cairosvg is there, and the library is not
        return None

    def to_png(svg: str) -> bytes:
        made: bytes = cairosvg.svg2png(svg.encode(), scale=SCALE)
        return made

    return to_png
