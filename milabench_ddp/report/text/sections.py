"""The sections at the end of the text report: what was not run, traces, failures."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from ...config.schema import SkippedBenchmark
from ...wrapped import wrapped
from ..model import Failure, Report
from ..run_info import RunInfo

_SOURCE = re.compile(r" \([^()]*:\d+\)$")  # the place in the configuration: (file:line)
_PRESET = re.compile(r"(disabled by the preset [^:]+): .*")  # `milabench list` says why


def titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section; none without lines."""
    lines = list(lines)
    if lines:
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
    by_reason: dict[str, dict[str, None]] = defaultdict(dict)
    for skipped in all_skipped:
        reason = _PRESET.sub(r"\1", _SOURCE.sub("", skipped.reason))
        by_reason[reason][skipped.name] = None
    for reason, names in by_reason.items():
        yield from wrapped(f"{some(list(names))}: {reason}", width, head, "  ")


def some(names: Sequence[str]) -> str:
    """A single name, or the number of names and the first three."""
    if len(names) == 1:
        return names[0]
    more = ", ..." if len(names) > 3 else ""
    return f"{len(names)} ({', '.join(names[:3])}{more})"


def traces(runs: Iterable[RunInfo], width: int) -> Iterator[str]:
    """The first trace of each benchmark that was traced."""
    for run in runs:
        for name, files in run.traces.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield from wrapped(f"{name}: {files[0]}{more}", width, rest="  ")


def failures(report: Report, width: int) -> Iterator[str]:
    """The failures of each benchmark, and how to repeat it; of those that are alike the first."""
    of_several = len(report.runs) > 1
    place = attrgetter("benchmark", "folder")
    for number, (_, group) in enumerate(groupby(report.failures, key=place)):
        if number:
            yield ""
        alike: dict[object, list[Failure]] = defaultdict(list)
        for failure in group:
            alike[failure.outcome, failure.reason, failure.lines].append(failure)
        for first, *others in alike.values():
            yield from _with_output(first, width, of_several=of_several)
            if others:
                names = some([other.tag or other.benchmark for other in others])
                yield from wrapped(f"the same: {names}", width, "    ", "      ")
        if first.script:
            yield from wrapped(f"to repeat it: bash {first.script}", width, "    -> ")


def _with_output(failure: Failure, width: int, *, of_several: bool) -> Iterator[str]:
    """A failure with the last lines of its output, and where all of it is."""
    head = _failure(failure)
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


def _failure(failure: Failure) -> str:
    where, reason = failure.tag or failure.benchmark, failure.reason
    if failure.rank is not None:
        where += f", rank {failure.rank}"
        reason = reason.removeprefix(f"rank {failure.rank}: ")
    return ": ".join(filter(None, (where, failure.outcome, reason)))
