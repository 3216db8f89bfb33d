"""What failed programs printed last, and how to repeat them."""

import shlex
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..errors import shown_names
from ..render.blocks import Block, Code, Line, Section
from .failure_causes import causes_of
from .model import Failure, Report
from .output import SHOWN
from .sentences import FEW, failure_sentence, failures_of_benchmarks

ROOM = 36  # lines of a report for the last lines of what failed, and for its table
FEWEST = 4  # lines: fewer tell little


def outputs(report: Report, rows: int) -> Iterator[Block]:
    """The last lines of the first failure of each cause, where a short report has room for them."""
    causes = causes_of(report)
    room = min(SHOWN, (ROOM - rows) // max(len(causes), 1) - 3)
    for cause in causes if room >= FEWEST else ():
        failure = cause.failure
        if failure.lines:
            yield Line(f"{failure.tag or failure.benchmark} printed last:")
            yield from output([replace(failure, lines=failure.lines[-room:])])
            yield from _repeating(failure)


def failures(report: Report) -> Iterator[Section]:
    for groups in failures_of_benchmarks(report):
        blocks: list[Block] = []
        for group in groups:
            first = group[0]
            said = failure_sentence(first)
            if len(report.runs) > 1 and first.folder:
                said += f" [{first.folder}]"
            blocks += [Line(said, rest="  "), *output(group)]
        yield Section([*blocks, *_repeating(first)])


def output(alike: Sequence[Failure]) -> Iterator[Block]:
    """What the first of several failures that are alike printed, and which others did the same."""
    first, *others = alike
    if first.lines:
        yield Code(first.lines)
    if first.whole:
        yield Line(f"all of it: {first.whole}", "    ")
    elif first.tag and not first.lines:
        yield Line("(it printed nothing)", "    ")
    if others:
        names = shown_names([other.tag or other.benchmark for other in others], FEW)
        yield Line(f"the same: {names}", "    ", "      ")


def _repeating(failure: Failure) -> Iterator[Line]:
    if failure.script:
        yield Line(f"to repeat it: bash {shlex.quote(str(failure.script))}", "    -> ")
