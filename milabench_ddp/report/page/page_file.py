"""Writes the page to a file, and opens it in a browser."""

import os
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ...errors import RunDirError
from ...files import whole_file
from ..model import Report
from ..order import selected
from ..replaceable import check_replaceable

NAME = "report.html"
NO_BROWSER = "no browser was found here: copy the page, it is a single file\n"


def write_page(
    report: Report, select: Sequence[str], path: Path, *, overwrite: bool = False
) -> list[str]:
    """Write the page to a file; returns a sentence.

    Args:
        select: names or globs of the benchmarks; empty for all.

    Raises:
        SelectionError: there is no such benchmark.
        RunDirError: the file cannot be written.
    """
    # imported here because only a page needs it
    from .frame import GENERATOR
    from .page import report_html

    if not overwrite:
        check_replaceable(path, GENERATOR)
    if select:
        report = report.only({"", *selected([row.name for row in report.rows], select)})
    content = report_html(report).encode()
    try:
        with whole_file(path) as part:
            part.write_bytes(content)
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
    return [f"page: {path} ({len(content) / 1e6:.2f} MB)"]


def page_path(report: Report) -> Path:
    """Where to write a page that is to be opened: into the folder of the run.

    That of several runs, or of one whose folder cannot be written, is a new temporary file.
    """
    if len(report.runs) == 1:
        folder = report.runs[0].path
        if os.access(folder, os.W_OK) and not (folder / NAME).is_dir():
            return folder / NAME
    with tempfile.NamedTemporaryFile(prefix="milabench-", suffix=f"-{NAME}", delete=False) as file:
        return Path(file.name)


def open_page(path: Path) -> str:
    return "" if webbrowser.open(path.resolve().as_uri()) else NO_BROWSER
