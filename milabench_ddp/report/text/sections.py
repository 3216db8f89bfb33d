"""The sections at the end of the text report: what was not run, traces, failures."""

import shlex
from collections.abc import Iterable, Iterator

from ...config.schema import SkippedBenchmark
from ...visible import in_line
from ...wrapped import wrapped
from ..model import Failure, Report
from ..run_info import RunInfo
from ..sentences import failure_sentence, failures_of_benchmarks, skipped_sentences, some


def titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section; none without lines."""
    lines = list(lines)
    if lines:
        title = in_line(title)
        yield title
        yield "-" * len(title)
        yield from lines


def not_run(runs: Iterable[RunInfo], width: int) -> Iterator[str]:
    """The benchmarks that did not run: a line for each reason."""
    return skipped_lines([skipped for run in runs for skipped in run.skipped], width)


def skipped_lines(
    all_skipped: Iterable[SkippedBenchmark], width: int, head: str = ""
) -> Iterator[str]:
    """A line for each reason, in the order in which they first appear."""
    for sentence in skipped_sentences(all_skipped):
        yield from wrapped(sentence, width, head, "  ")


def traces(runs: Iterable[RunInfo], width: int) -> Iterator[str]:
    """The first trace of each benchmark that was traced."""
    for run in runs:
        for name, files in run.traces.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield from wrapped(f"{name}: {files[0]}{more}", width, rest="  ")


def failures(report: Report, width: int) -> Iterator[str]:
    """The failures of each benchmark, and how to repeat it; of those that are alike the first."""
    of_several = len(report.runs) > 1
    for number, group in enumerate(failures_of_benchmarks(report)):
        if number:
            yield ""
        for first, *others in group:
            yield from _with_output(first, width, of_several=of_several)
            if others:
                names = some([other.tag or other.benchmark for other in others])
                yield from wrapped(f"the same: {names}", width, "    ", "      ")
        if first.script:
            yield from wrapped(
                f"to repeat it: bash {shlex.quote(str(first.script))}", width, "    -> "
            )


def _with_output(failure: Failure, width: int, *, of_several: bool) -> Iterator[str]:
    head = failure_sentence(failure)
    if of_several and failure.folder:
        head += f" [{failure.folder}]"
    yield from wrapped(head, width, rest="  ")
    for line in failure.lines:
        said = line.lstrip()
        yield from wrapped(said, width, " " * (4 + len(line) - len(said)))
    if failure.whole:
        yield from wrapped(f"all of it: {failure.whole}", width, "    -> ")
    elif failure.tag:
        yield "    (it printed nothing)"
