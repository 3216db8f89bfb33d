"""The report on a run as text, as at its end, and the exit code of a command that reports."""

import re
import shutil
import sys
from pathlib import Path
from typing import TextIO

from ..files import replace_file
from ..grouping import grouped
from ..render.text import WIDTH
from ..report.assemble import report_of
from ..report.broken_rows import in_spite_of_broken
from ..report.faces import report_text
from ..report.finding import Severity
from ..report.findings.planted import PLANTED
from ..report.model import Report
from ..report.node_verdict import Word, worst
from ..report.ring_order import ring_order
from ..results.node_state import FAILING_NODES, NODE_ORDER, PASSING_NODES
from ..shown_streams import behind, has_colours

SUCCEEDED, FAILED, CANCELLED = 0, 1, 130
OF_WORST = {Word.PASS: SUCCEEDED, Word.FAIL: FAILED, Word.CANNOT_TELL: 3}
NARROWEST = 40  # columns, below which a table cannot be read
RED, PLAIN = "\x1b[1;31m", "\x1b[0m"
_FAIL = re.compile(r"(?:Verdict +)?(FAIL)\b")  # as a report begins


def exit_code(report: Report, fail_on: str = Severity.ERROR) -> int:
    """The exit code of runs, for every command that reports on them.

    0: every benchmark ended ok, and measured something. 130: a run was cancelled. 1: anything else,
    such as a benchmark that failed, a run that has not ended, or a finding as serious as
    ``fail_on``; ``none``: no finding counts. Of a validation that has ended, the verdicts on its
    nodes count first. 1: a node fails. 3: none does, but of some it cannot be told.
    """
    if report.cancelled:
        return CANCELLED
    is_refused = fail_on != "none" and report.has(Severity(fail_on))
    if report.verdicts and not report.goes_on:
        return OF_WORST[worst(report.verdicts)] or FAILED * is_refused
    return SUCCEEDED if report.succeeded and not is_refused else FAILED


def show(path: str | Path, out: TextIO, fail_on: str = Severity.ERROR) -> int:
    width = shown_width()
    made, text = in_spite_of_broken(lambda it: report_text(it, width), report_of([path]))
    is_real = all(each.name != PLANTED for each in made.findings)
    if made.verdicts and is_real and not (made.goes_on or made.cancelled):
        by_word = grouped((each.verdict, each.node) for each in made.verdicts)
        failing = by_word.get(Word.FAIL, [])
        lists = {PASSING_NODES: by_word.get(Word.PASS, []), FAILING_NODES: failing}
        for ring in filter(None, map(ring_order, made.rows)):
            lists[NODE_ORDER] = [node for node in ring.order if node not in failing]
        try:
            for name, nodes in lists.items():
                replace_file(Path(path) / name, "".join(f"{node}\n" for node in nodes).encode())
        except OSError as error:
            why = error.strerror
            print(f"milabench: warning: no lists of nodes in {path}: {why}", file=sys.stderr)
    write(text, out)
    return exit_code(made, fail_on)


def write(text: str, out: TextIO) -> None:
    """Write a report; in a terminal the FAIL of its verdict is red, unless NO_COLOR is set."""
    found = _FAIL.match(text)
    if found and has_colours(out):
        out.write(text[: found.start(1)])
        behind(out).write(f"{RED}{found[1]}{PLAIN}")
        text = text[found.end(1) :]
    out.write(text)


def shown_width() -> int:
    """The columns of ``COLUMNS``, or else of the terminal; a file or a pipe has ``WIDTH``."""
    return max(shutil.get_terminal_size((WIDTH, 0)).columns, NARROWEST)
