"""A report as Markdown, for a pull request: the verdict, the findings, the main table.

What is asked for less often is folded. GitHub refuses what is too long, so details that have no
room are left out, and named.
"""

from collections.abc import Iterator, Mapping, Sequence

from ..marked import code_block, folded, marked, table_lines
from ..table import Table
from .document.make_benchmark import commands_of
from .finding import Finding, Severity
from .model import Failure, Report
from .prediction.predict import Predicted
from .prediction.prediction_table import prediction_table
from .sentences import (
    alike,
    failure_sentence,
    failures_of_benchmarks,
    findings_counted,
    run_facts,
    score,
    skipped_sentences,
    some,
    verdict,
)
from .sweeps.sweep import Sweep, block_table, sweeps_of
from .tables import TABLES
from .tables.main_table import compact, table_of

ROOM = 60_000  # characters; GitHub takes 65,536
MOST_ALIKE = 5  # findings of a name
LINES = 30  # of the output of what failed
FOLDED: Mapping[str, str] = {  # tables that are in the details, with their titles
    "steps": "Steps",
    "strategies": "Strategies",
    "stragglers": "Slowest and fastest ranks",
    "speedup": "Speed-up",
    "communication": "Communication",
    "bandwidth": "Memory and transfers",
    "links": "Links between devices",
    "devices": "Devices",
    "energy_total": "Energy",
}
BLOCK = "throughput"  # the metric of sweeps


def report_markdown(report: Report) -> str:
    """The report in at most about ``ROOM`` characters, unless the main table alone is longer."""
    text = "\n".join(_head(report)) + "\n"
    left_out = []
    for title, lines in _details(report):
        part = "\n".join(["", *folded(title, lines)]) + "\n" if lines else ""
        if len(text) + len(part) > ROOM:
            left_out.append(title)
        else:
            text += part
    if left_out:
        names = ", ".join(left_out)
        text += f"\n{marked(f'Left out, because a comment has no room for more: {names}.')}\n"
    return text


def table_markdown(table: Table) -> str:
    head = [f"### {marked(table.title)}", ""] if table.title else []
    return "\n".join([*head, *table_lines(table)]) + "\n"


def sweep_markdown(sweep: Sweep) -> str:
    """A sweep: the metric, the blocks, and what was skipped."""
    lines = [f"### {marked(sweep.metric)}", "", marked(sweep.meaning), "", *_sweep(sweep)]
    for sentence in skipped_sentences(sweep.skipped):
        lines += ["", marked(f"skipped: {sentence}")]
    return "\n".join(lines) + "\n"


def prediction_markdown(found: Sequence[Predicted]) -> str:
    """Predictions as a table."""
    return table_markdown(prediction_table(found))


def _head(report: Report) -> Iterator[str]:
    """What everyone reads: it is never folded, or left out."""
    yield f"### {marked(verdict(report))}"
    yield ""
    told: dict[str, str] = {}
    for run in report.runs:
        for name, text in run_facts(run).items():
            if text and told.get(name) != text:
                yield f"- **{name}** {marked(text)}"
            told[name] = text
    if report.compat or report.score.is_told:
        yield f"- **Score** {marked(score(report))}"
    if report.compat:
        yield "- The statistics are milabench's own: they include warm-up and failed processes."
    if counted := findings_counted(report):
        yield ""
        yield f"**Findings: {counted}**"
    for severity in (Severity.ERROR, Severity.WARNING):
        yield from _findings(report, severity)
    yield ""
    if not report.rows:
        yield "Nothing was measured."
        return
    table = table_of(report)
    yield from table_lines(table if report.compat else compact(table))


def _findings(report: Report, severity: Severity) -> Iterator[str]:
    groups = list(alike(report, severity))
    if groups:
        yield ""
    for group in groups:
        for finding in group[:MOST_ALIKE]:
            yield f"- **{severity}** {marked(finding.sentence)}"
        if len(group) > MOST_ALIKE:
            yield f"- ... and {len(group) - MOST_ALIKE} more like these, below"
        if group[0].advice:
            yield f"  - {marked(group[0].advice)}"


Details = tuple[str, Sequence[str]]


def _details(report: Report) -> Iterator[Details]:
    """The parts that are folded, the most important first; those without a line are empty."""
    for group in failures_of_benchmarks(report):
        for first, *others in group:
            yield failure_sentence(first), [*_output(first), *_the_same(others)]
    yield from _all_alike(report)
    for sweep in () if report.compat else sweeps_of(report, BLOCK):
        yield f"{BLOCK.capitalize()} of {sweep.name or 'the sweep'}", list(_sweep(sweep))
    for name, title in FOLDED.items():
        table = TABLES[name](report.rows)
        yield title, list(table_lines(table)) if table else []
    notes = [finding for group in alike(report, Severity.NOTE) for finding in group]
    yield f"Notes: {len(notes)}", list(map(_bullet, notes))
    skipped = [each for run in report.runs for each in run.skipped]
    yield f"Not run: {len(skipped)}", [f"- {marked(each)}" for each in skipped_sentences(skipped)]
    commands = [command for row in report.rows for command in commands_of(report, row.name)]
    yield "To repeat a benchmark", list(code_block(commands)) if commands else []


def _all_alike(report: Report) -> Iterator[Details]:
    for severity in (Severity.ERROR, Severity.WARNING):
        for group in alike(report, severity):
            if len(group) > MOST_ALIKE:
                yield f"All {len(group)} findings {group[0].name}", list(map(_bullet, group))


def _bullet(finding: Finding) -> str:
    return f"- {marked(finding.sentence)}"


def _output(failure: Failure) -> Iterator[str]:
    if failure.lines:
        yield from code_block(failure.lines[-LINES:])
    if failure.lines and failure.whole:
        yield ""
    if failure.whole:
        yield marked(f"all of it: {failure.whole}")
    elif not failure.lines:
        yield "It printed nothing." if failure.tag else marked(failure.reason)


def _the_same(others: Sequence[Failure]) -> Iterator[str]:
    if others:
        yield ""
        yield marked(f"the same: {some([other.tag or other.benchmark for other in others])}")


def _sweep(sweep: Sweep) -> Iterator[str]:
    numbers: dict[str, int] = {}
    for place, title in enumerate(sweep.blocks):
        if place:
            yield ""
        if title:
            yield f"**{marked(title)}**"
            yield ""
        yield from table_lines(block_table(sweep, title, numbers))
    for note, number in numbers.items():
        yield ""
        yield marked(f"[{number}] {note}")
