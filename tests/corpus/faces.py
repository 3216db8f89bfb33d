"""Every face of the runs of the corpus, as the command writes it, with its exit code."""

import base64
import re
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from milabench_ddp.commands import report
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import text_format
from milabench_ddp.report.prediction.predict import predictions_of
from milabench_ddp.report.tables import REPORT_TABLES, TABLES
from tests.corpus.runs import RUNS
from tests.fuzz.command import milabench

T = TypeVar("T")

WIDTHS = "80", "100", "140"
METRICS = "throughput", "latency", "efficiency", "memory", "mfu"
OF_SWEEPS = "rich", "sweep", "tidy"
WIDE = "--width", "300"
# What a page has from files of the package: the corpus is about what is made of a run
ASSET = re.compile(r"(<style>|<script>).*?(</style>|</script>)", re.DOTALL)
POLICY = re.compile(r"sha256-[\w+/=]*")
VERSION = re.compile(r"(?<=milabench-report )[^\"]*")
PACKED = re.compile(r'(<script type="text/plain"[^>]*>)([^<]*)')
PART_END = "\x1e"
LONG = re.compile(r"\d+\.\d{9,}(e[-+]?\d+)?")


def faces_of(name: str) -> Iterator[tuple[str, str]]:
    """The file name and the text of each face; of numbers 12 digits, as the last ones depend on
    the processor. All faces are of one report, which none of them changes.
    """
    with pytest.MonkeyPatch.context() as patch:
        asked = made_once(report_of, lambda *given, **named: repr((given, named)))
        patch.setattr(report, "report_of", asked)
        foretold = made_once(predictions_of, lambda rows, counts: (id(rows), *counts))
        patch.setattr(report, "predictions_of", foretold)
        for face, text in FACES[name]():
            yield face, LONG.sub(lambda found: f"{float(found[0]):.12g}", text)


def made_once(make: Callable[..., T], key: Callable[..., Hashable]) -> Callable[..., T]:
    """A function that makes the same only once of the same, as the key says."""
    made: dict[Hashable, T] = {}

    def remembered(*given: object, **named: object) -> T:
        of = key(*given, **named)
        if of not in made:
            made[of] = make(*given, **named)
        return made[of]

    return remembered


def report_faces(name: str) -> Iterator[tuple[str, str]]:
    """The file name and the text of each face of a run, whose folder is in the current one."""
    for width in WIDTHS:
        yield f"text_{width}.txt", said("report", name, "--width", width)
    yield "report.md", said("report", name, "--format", "markdown")
    yield "report.csv", said("report", name, "--csv")
    yield "report.json", said("report", name, "--format", "json")
    yield "page.html", shown_page(said("report", name, "--format", "html"))
    yield "compat.txt", said("report", name, "--compat", *WIDE)
    yield "tables.txt", "\n".join(tables(name))
    yield "export.txt", exported(name)


def tables(name: str) -> Iterator[str]:
    """Each table of a run, of one report: to read it for each anew takes a minute in all."""
    made, shown = report_of([name]), text_format(int(WIDE[1])).table
    for table, of_rows in TABLES.items():
        yield f"== {table}\n{shown(of_rows(made.rows))}"
    for table, of_report in REPORT_TABLES.items():
        yield f"== {table}\n{shown(of_report(made))}"
    for table in ("steps", *(METRICS if name in OF_SWEEPS else ())):
        yield f"== {table}\n{said('report', name, '--table', table, *WIDE)}"


def exported(*runs: str) -> str:
    """The tidy tables of runs, one after another; long ones by their first and last rows."""
    shown = said("export", *runs, "--to", "csv", "exported", "--overwrite")
    for path in sorted(Path("exported").iterdir()):
        lines = path.read_text().splitlines(keepends=True)
        path.unlink()
        rest = [f"... {len(lines) - 41} more\n", *lines[-20:]] if len(lines) > 41 else lines[21:]
        shown += "".join([f"== {path.name}\n", *lines[:21], *rest])
    return shown


def shown_page(page: str) -> str:
    """A page, without what is in files of the package, and with what is packed in it."""
    page = ASSET.sub(r"\1\2", page)
    page = VERSION.sub("", POLICY.sub("", page)).replace("><", ">\n<")

    def unpacked(found: re.Match[str]) -> str:
        text = zlib.decompress(base64.b64decode(found[2])).decode()
        return found[1] + text.replace(PART_END, "\n")

    return PACKED.sub(unpacked, page)


def compare_faces() -> Iterator[tuple[str, str]]:
    """The faces of a comparison of two runs."""
    for format in ("text", "markdown", "csv", "json", "html"):
        shown = said("compare", "before", "after", "--format", format)
        yield f"comparison.{format}", shown_page(shown) if format == "html" else shown


def history_faces() -> Iterator[tuple[str, str]]:
    """The faces of a history of eight runs."""
    for format in ("text", "csv", "json", "html"):
        shown = said("history", "history", "--format", format)
        yield f"history.{format}", shown_page(shown) if format == "html" else shown


def prediction_faces() -> Iterator[tuple[str, str]]:
    """The faces of a prediction from three runs."""
    for format in ("text", "markdown", "csv", "json"):
        width = WIDE if format == "text" else ()
        shown = said("report", "scaled", "--predict", "8,16", "--format", format, *width)
        yield f"prediction.{format}", shown


FACES: Mapping[str, Callable[[], Iterator[tuple[str, str]]]] = {
    **{name: partial(report_faces, name) for name in RUNS},
    "compare": compare_faces,
    "history": history_faces,
    "predict": prediction_faces,
}
"""The faces of each run, and of what is made of several, by their folder in the corpus."""


def said(*words: str) -> str:
    """What the command writes."""
    done = milabench(*words)
    return f"{done.out}{done.err}(exit {done.code})\n"
