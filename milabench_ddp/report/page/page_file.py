"""Writes the page to a file, and opens it in a browser."""

import os
import tempfile
import webbrowser
from pathlib import Path

from ..model import Report
from ..replaceable import check_replaceable, whole

NAME = "report.html"
NO_BROWSER = "no browser was found here: copy the page, it is a single file\n"


def write_page(report: Report, path: Path, *, overwrite: bool = False) -> list[str]:
    """Write the page to a file; returns a sentence.

    Raises:
        RunDirError: the file cannot be written.
    """
    # imported here because only a page needs it
    from .frame import GENERATOR
    from .page import report_html

    if not overwrite:
        check_replaceable(path, GENERATOR)
    content = report_html(report).encode()
    with whole(path) as part:
        part.write_bytes(content)
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
