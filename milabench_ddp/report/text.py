"""A report as plain text, for a terminal, a file or a pull request."""

import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ..config.schema import SkippedBenchmark
from ..events import Outcome
from ..table import Table, text_lines, with_alike_below, without_unknown
from .model import Failure, Report, Score, Severity
from .run_info import RunInfo
from .sweeps.sweep import Sweep, block_table
from .tables import IN_THE_TEXT
from .tables.main_table import MAIN_COLUMNS, main_table

WIDE = 120  # characters
MOST_ALIKE = 5  # findings of a name, or benchmarks that were skipped for the same reason
_SOURCE = re.compile(r" \([^()]*:\d+\)$")  # the place in the configuration: (file:line)


def report_text(report: Report) -> str:
    """The whole report, with a newline at its end."""
    return "\n".join(_report(report)) + "\n"


def table_text(table: Table) -> str:
    """A single table, with a newline at its end.

    Of a wide one, the columns that are alike in all rows are told below it.
    """
    lines = list(text_lines(table))
    if max(map(len, lines), default=0) > WIDE:
        lines = list(text_lines(with_alike_below(table)))
    return "\n".join(lines) + "\n"


def sweep_text(sweep: Sweep) -> str:
    """A sweep: the metric, the blocks, and below them the numbered notes and skipped benchmarks."""
    notes: dict[str, int] = {}
    lines = [f"{sweep.metric}: {sweep.meaning}"]
    for title in sweep.blocks:
        lines.append("")
        if title:
            lines.append(f"{title}:")
        lines += text_lines(block_table(sweep, title, notes), "  ", ruled=True)
    if notes:
        lines.append("")
        for note, number in notes.items():
            lines.append(f"[{number}] {note}")
    if sweep.skipped:
        lines.append("")
        skipped = [replace(each, reason=_SOURCE.sub("", each.reason)) for each in sweep.skipped]
        for reason, names in _by_reason(skipped).items():
            lines.append(f"skipped: {_some(names)}: {reason}")
    return "\n".join(lines) + "\n"


def _report(report: Report) -> Iterator[str]:
    for run in report.runs:
        yield from _run(run)
        yield ""
    if report.compat:
        yield "The statistics are milabench's own: they include warm-up and failed processes."
        yield ""
    if lines := list(_findings(report)):
        yield from lines
        yield ""
    if report.rows:
        table = main_table(report.rows, compat=report.compat)
        yield from text_lines(without_unknown(table, always=len(MAIN_COLUMNS)))
    else:
        yield "Nothing was measured."
    yield ""
    yield f"Failure rate:  {_failure_rate(report)}"
    yield f"Score:         {_score(report.score)}"
    for make_table in IN_THE_TEXT:
        if table := make_table(report.rows):
            yield ""
            yield from text_lines(table)
    yield from _section("Skipped", _skipped(report.runs))
    yield from _section("Traces", _traces(report.runs))
    yield from _section("Notes", _alike(report, Severity.NOTE))
    yield from _section("Failures", _failures(report))


def _findings(report: Report) -> Iterator[str]:
    """How many findings there are, then the errors and the warnings, one a line."""
    counts = Counter(finding.severity for finding in report.findings)
    told = [_count(counts[severity], severity) for severity in Severity if counts[severity]]
    if told:
        below = " (below the tables)" if counts[Severity.NOTE] else ""
        yield f"Findings: {', '.join(told)}{below}"
    elif report.rows and not report.compat:
        yield "Findings: none"
    for severity in (Severity.ERROR, Severity.WARNING):
        yield from _alike(report, severity, f"  {severity:8} ")


def _alike(report: Report, severity: Severity, head: str = "") -> Iterator[str]:
    """The findings of a severity: of each name the first few, and what to do about them."""
    found = [finding for finding in report.findings if finding.severity is severity]
    for _, group in groupby(found, key=lambda finding: finding.name):
        alike = list(group)
        for finding in alike[:MOST_ALIKE]:
            yield f"{head}{finding.sentence}"
        indent = " " * len(head)
        if len(alike) > MOST_ALIKE:
            more = len(alike) - MOST_ALIKE
            yield f"{indent}... and {more} more like these: --table findings has all"
        if alike[0].advice and head:
            yield f"{indent}-> {alike[0].advice}"


def _count(count: int, severity: Severity) -> str:
    return f"{count} {severity}{'s' * (count != 1)}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if lines:
        yield ""
        yield title
        yield "-" * len(title)
        yield from lines


def _run(run: RunInfo) -> Iterator[str]:
    outcome = "still going on" if run.outcome is None else run.outcome
    path = str(run.path)
    machine = run.host, run.devices or run.arch, run.cpu, run.version
    head = {
        "Run": f"{path}: {outcome}" if outcome else path,
        "State": _states(run),
        "Time": _time(run),
        "Machine": "; ".join(filter(None, machine)),
        "Preset": _preset(run),
    }
    for name, text in head.items():
        if text:
            yield f"{name:8} {text}"


def _states(run: RunInfo) -> str:
    states = []
    if run.running:
        states.append(f"running: {', '.join(run.running)}")
    # in a run that has ended, a benchmark that waits never ran, and is among the failures
    if run.waiting and run.outcome is None:
        states.append(f"waiting: {', '.join(run.waiting)}")
    return "; ".join(states)


def _time(run: RunInfo) -> str:
    if run.started is None:
        return ""
    text = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(run.started))
    if run.seconds is None:
        return text
    minutes, seconds = divmod(round(run.seconds), 60)
    if minutes:
        return f"{text}, {minutes} min {seconds} s"
    return f"{text}, {run.seconds:.1f} s"


def _preset(run: RunInfo) -> str:
    if run.arch == "cpu" and run.preset:
        return f"{run.preset}, on a CPU: not to be compared with a GPU's numbers"
    if run.preset not in ("full", ""):
        return f"{run.preset}: not to be compared with the full preset's numbers"
    return run.preset


def _failure_rate(report: Report) -> str:
    """The rate of failures, with the verdict and, if no failure explains it, the reason."""
    rate = report.failure_rate
    if math.isnan(rate):
        return "none: nothing was measured"
    text = f"{rate:10.2%} ({'PASS' if report.passed else 'FAIL'})"
    if report.passed or rate > 0:
        return text
    if report.goes_on and not report.compat:
        return f"{rate:10.2%} so far"
    unmeasured = ", ".join(report.unmeasured) if report.has_measured else "every benchmark"
    if unmeasured:
        return f"{rate:10.2%} (FAIL: nothing was measured in {unmeasured})"
    outcomes = dict.fromkeys(run.outcome for run in report.runs if run.outcome != Outcome.OK)
    return f"{rate:10.2%} (FAIL: the run was {' and '.join(filter(None, outcomes))})"


def _score(score: Score) -> str:
    if math.isnan(score.value):
        return f"none: {score.reason}"
    baseline = f" of {score.baseline}" if score.baseline else ""
    return f"{score.value:10.2f}{baseline}"


def _skipped(runs: Sequence[RunInfo]) -> Iterator[str]:
    """Each skipped benchmark with its reason; many with the same reason share a line."""
    all_skipped = [skipped for run in runs for skipped in run.skipped]
    for reason, names in _by_reason(all_skipped).items():
        if len(names) > MOST_ALIKE:
            names = [_some(names)]
        for name in names:
            yield f"{name}: {reason}"


def _by_reason(all_skipped: Iterable[SkippedBenchmark]) -> dict[str, list[str]]:
    """The names for each reason, in the order in which the reasons first appear."""
    found: dict[str, list[str]] = defaultdict(list)
    for skipped in all_skipped:
        found[skipped.reason].append(skipped.name)
    return found


def _some(names: Sequence[str]) -> str:
    """A single name, or the number of names and the first three."""
    if len(names) == 1:
        return names[0]
    more = ", ..." if len(names) > 3 else ""
    return f"{len(names)} ({', '.join(names[:3])}{more})"


def _traces(runs: Iterable[RunInfo]) -> Iterator[str]:
    for run in runs:
        for name, files in run.traces.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield f"{name}: {files[0]}{more}"


def _failures(report: Report) -> Iterator[str]:
    for index, failure in enumerate(report.failures):
        if index:
            yield ""
        head = _failure(failure)
        if len(report.runs) > 1 and failure.folder:
            head += f" [{failure.folder}]"
        yield head
        for line in failure.lines:
            yield f"    {line}".rstrip()
        if failure.whole:
            yield f"    -> all of it: {failure.whole}"
        elif failure.tag:
            yield "    (it printed nothing)"


def _failure(failure: Failure) -> str:
    where, reason = failure.tag or failure.benchmark, failure.reason
    if failure.rank is not None:
        where += f", rank {failure.rank}"
        reason = reason.removeprefix(f"rank {failure.rank}: ")
    return ": ".join(filter(None, (where, failure.outcome, reason)))
