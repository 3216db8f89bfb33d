"""What failed programs printed last, and how to repeat them."""

import shlex
from collections.abc import Iterator

from ..render.blocks import Block, Code, Line, Section
from .failure_causes import causes_of
from .model import Failure, Report
from .output import SHOWN
from .sentences import failure_sentence, failures_of_benchmarks, some

LINES = 30  # of the output of what failed, in a fold
ROOM = 36  # lines of a report for the last lines of what failed, and for its table
FEWEST = 4  # lines: fewer tell little
TO_REPEAT = "to repeat it: bash "


def outputs(report: Report, rows: int) -> Iterator[Block]:
    """The last lines of the first failure of each cause, where a short report has room for them."""
    causes = causes_of(report)
    for cause in causes:
        failure = cause.failure
        room = min(SHOWN, (ROOM - rows) // len(causes) - 3)
        if failure.lines and room >= FEWEST:
            yield Line(f"{failure.tag or failure.benchmark} printed last:")
            yield Code(failure.lines[-room:])
            yield Line(f"all of it: {failure.whole}", "    -> ")
            if failure.script:
                yield Line(f"{TO_REPEAT}{shlex.quote(str(failure.script))}", "    -> ")


def failures(report: Report) -> Iterator[Section]:
    for groups in failures_of_benchmarks(report):
        blocks: list[Block] = []
        for first, *others in groups:
            said = failure_sentence(first)
            if len(report.runs) > 1 and first.folder:
                said += f" [{first.folder}]"
            blocks += [Line(said, rest="  "), Code(first.lines)]
            if first.whole:
                blocks.append(Line(f"all of it: {first.whole}", "    -> "))
            elif first.tag:
                blocks.append(Line("(it printed nothing)", "    "))
            if others:
                blocks.append(Line(_the_same(others), "    ", "      "))
        if first.script:
            blocks.append(Line(f"{TO_REPEAT}{shlex.quote(str(first.script))}", "    -> "))
        yield Section(blocks)


def output(failure: Failure, others: list[Failure]) -> Iterator[Block]:
    if failure.lines:
        yield Code(failure.lines[-LINES:])
    if failure.whole:
        yield Line(f"all of it: {failure.whole}")
    elif not failure.lines:
        yield Line("It printed nothing." if failure.tag else failure.reason)
    if others:
        yield Line(_the_same(others))


def _the_same(others: list[Failure]) -> str:
    return f"the same: {some([other.tag or other.benchmark for other in others])}"
