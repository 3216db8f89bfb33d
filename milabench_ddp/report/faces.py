"""A report as blocks: in full for a terminal; folded, and with more detail, for a pull request."""

import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from ..config.schema import SkippedBenchmark
from ..render.blocks import (
    Block,
    Bullet,
    Caption,
    Code,
    Fact,
    Findings,
    Fold,
    Headline,
    Line,
    Section,
    TableBlock,
)
from ..render.text import WIDTH, text_of
from .finding import Finding, Severity
from .model import Failure, Report
from .run_info import RunInfo
from .sentences import (
    alike,
    commands_of,
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
from .tables import TABLES, tables_with_rows
from .tables.main_table import compact, main_table, milabench_table, stay, table_of

METRIC = "throughput"  # of the tables of sweeps
MOST_ALIKE = 5  # findings of a name
LINES = 30  # of the output of what failed, in a fold
FOLDED: Mapping[str, str] = {  # tables that have a fold each, with their titles
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
MILABENCHS = "The statistics are milabench's own: they include warm-up and failed processes."
NOTHING = Line("Nothing was measured.")


def report_text(report: Report, width: int = WIDTH) -> str:
    """The report in lines of at most ``width`` columns; with milabench's formulas they are long."""
    if report.compat:
        return text_of(milabench_blocks(report), sys.maxsize)
    return text_of(report_blocks(report), width)


def report_blocks(report: Report) -> Iterator[Block]:
    """The verdict and the findings first, then a line for each benchmark, then the rest."""
    head = [Fact("Verdict", (verdict(report),))]
    if report.score.is_told:
        head.append(Fact("Score", (score(report),)))
    yield Section([*head, *facts_of(report.runs)])
    yield Section(errors_and_warnings(report))
    if report.rows:
        yield Section([TableBlock(compact(main_table(report.rows)), tuple(stay()))])
    if compared := TABLES["speedup"](report.rows):
        yield Section([TableBlock(compared)])
    for sweep in sweeps_of(report, METRIC, fewest_axes=2):
        yield Section(_of_sweep(sweep), _title(sweep))
    yield Section(not_run(report), "Not run")
    yield Section(traces(report), "Traces")
    yield Section(notes(report, most=1), "Notes")
    yield Section(failures(report), "Failures")
    yield Section(_more(report))


def milabench_blocks(report: Report) -> Iterator[Block]:
    """The report with milabench's formulas."""
    for run in report.runs:
        yield Section(facts_of([run]))
    yield Section([Line(MILABENCHS)])
    yield Section(errors_and_warnings(report))
    yield Section([TableBlock(milabench_table(report.rows)) if report.rows else NOTHING])
    rate = Line(f"Failure rate:  {failure_rate(report)}")
    yield Section([rate, Line(f"Score:         {score(report):>10}")])
    yield Section(not_run(report), "Skipped")
    yield Section(notes(report, MOST_ALIKE), "Notes")
    yield Section(failures(report), "Failures")


def folded_blocks(report: Report) -> Iterator[Block]:
    """What everyone reads, then folds, the most important first."""
    yield Headline(verdict(report))
    facts: list[Block] = list(facts_of(report.runs))
    if report.compat or report.score.is_told:
        facts.append(Fact("Score", (score(report),)))
    if report.compat:
        facts.append(Bullet(MILABENCHS))
    yield Section(facts)
    if counted := findings_counted(report):
        yield Caption(f"Findings: {counted}")
    for severity in (Severity.ERROR, Severity.WARNING):
        yield Section(_findings(report, severity))
    table = table_of(report)
    if report.rows:
        yield TableBlock(table if report.compat else compact(table))
    else:
        yield NOTHING
    for group in failures_of_benchmarks(report):
        for first, *others in group:
            yield Fold(failure_sentence(first), _output(first, others))
    for severity in (Severity.ERROR, Severity.WARNING):
        for found in alike(report, severity):
            if len(found) > MOST_ALIKE:
                yield Fold(f"All {len(found)} findings {found[0].name}", _bullets(found))
    for sweep in () if report.compat else sweeps_of(report, METRIC):
        yield Fold(_title(sweep), _of_sweep(sweep))
    for name, title in FOLDED.items():
        table = TABLES[name](report.rows)
        yield Fold(title, [TableBlock(replace(table, title=""))] if table else [])
    told = [finding for group in alike(report, Severity.NOTE) for finding in group]
    yield Fold(f"Notes: {len(told)}", _bullets(told))
    skipped = [each for run in report.runs for each in run.skipped]
    yield Fold(f"Not run: {len(skipped)}", map(Bullet, skipped_sentences(skipped)))
    commands = [command for row in report.rows for command in commands_of(report, row.name)]
    yield Fold("To repeat a benchmark", [Code(tuple(commands))] if commands else [])


def sweep_blocks(sweep: Sweep) -> Iterator[Block]:
    """The metric, the tables with their notes, and what was skipped."""
    yield Headline(sweep.metric, sweep.meaning)
    yield from _of_sweep(sweep)
    yield Section(_skipped(sweep.skipped, "skipped: "))


def _title(sweep: Sweep) -> str:
    return f"{METRIC.capitalize()} of {sweep.name or 'the sweep'}"


def _of_sweep(sweep: Sweep) -> Iterator[Block]:
    numbers: dict[str, int] = {}
    for title in sweep.blocks:
        table = TableBlock(block_table(sweep, title, numbers), is_ruled=True)
        yield Section([Caption(title), table] if title else [table])
    yield Section(Line(note, f"[{number}] ") for note, number in numbers.items())


def facts_of(runs: Iterable[RunInfo]) -> Iterator[Fact]:
    """What was run, when and where; of several runs what they share is told once."""
    told: dict[str, str] = {}
    for run in runs:
        facts = run_facts(run)
        for name, text in facts.items():
            if text and told.get(name) != text:
                yield Fact(name, (text,))
        told |= facts


def errors_and_warnings(report: Report) -> Iterator[Block]:
    """How many findings there are, then the errors and the warnings."""
    if told := findings_counted(report):
        below = " (below the tables)" if report.notes else ""
        yield Line(f"Findings: {told}{below}")
    elif report.rows and not report.compat:
        yield Line("Findings: none")
    yield from _findings(report, Severity.ERROR)
    yield from _findings(report, Severity.WARNING)


def _findings(report: Report, severity: Severity) -> Iterator[Findings]:
    for group in alike(report, severity):
        sentences = tuple(finding.sentence for finding in group)
        yield Findings(severity, sentences, group[0].advice, MOST_ALIKE)


def _bullets(findings: Iterable[Finding]) -> Iterator[Bullet]:
    for finding in findings:
        yield Bullet(finding.sentence)


def notes(report: Report, most: int) -> Iterator[Findings]:
    """The notes; of each name the first ``most``."""
    for group in alike(report, Severity.NOTE):
        yield Findings("", tuple(finding.sentence for finding in group), most=most)


def failure_rate(report: Report) -> str:
    """The rate of failures with the verdict, as milabench tells it."""
    rate = report.failure_rate
    if math.isnan(rate):
        return "none: nothing was measured"
    verdict = "PASS" if report.passed else "FAIL"
    if not rate and not report.passed:
        verdict += ": nothing was measured in every benchmark"
    return f"{rate:10.2%} ({verdict})"


def not_run(report: Report) -> Iterator[Line]:
    """The benchmarks that did not run: a line for each reason."""
    return _skipped([each for run in report.runs for each in run.skipped])


def _skipped(skipped: Iterable[SkippedBenchmark], first: str = "") -> Iterator[Line]:
    for sentence in skipped_sentences(skipped):
        yield Line(sentence, first, "  ")


def traces(report: Report) -> Iterator[Line]:
    """The first trace of each benchmark that was traced."""
    for run in report.runs:
        for name, files in run.traces.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield Line(f"{name}: {files[0]}{more}", rest="  ")


def failures(report: Report) -> Iterator[Section]:
    """The failures of each benchmark, and how to repeat it; of those that are alike the first."""
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
            command = shlex.quote(str(first.script))
            blocks.append(Line(f"to repeat it: bash {command}", "    -> "))
        yield Section(blocks)


def _output(failure: Failure, others: list[Failure]) -> Iterator[Block]:
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


def _more(report: Report) -> Iterator[Line]:
    names = tables_with_rows(report.rows)
    if report.findings:
        names.append("findings")
    if names:
        yield Line(", ".join(names), "More: --table ", " " * 6)
