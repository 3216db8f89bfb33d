"""A report as blocks: in full for a terminal; folded, and with more detail, for a pull request."""

import math
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from ..errors import shown_names
from ..render.blocks import (
    Block,
    Bullet,
    Caption,
    Code,
    Fact,
    Fold,
    Headline,
    Line,
    Section,
    TableBlock,
)
from ..render.text import WIDTH, text_of
from .brief import FEW, broken, checked, to_do, told_together, warnings
from .failure_faces import failures, output, outputs
from .finding import Finding, Severity
from .model import Report
from .run_info import RunInfo
from .sentences import (
    alike,
    commands_of,
    failure_sentence,
    failures_of_benchmarks,
    nodes_told,
    run_facts,
    skipped_sentences,
    verdict,
)
from .sweeps.sweep import Sweep, block_table, sweeps_of
from .tables import TABLES, tables_with_rows
from .tables.main_table import compact, main_table, milabench_table, stay, table_of

METRIC = "throughput"  # of the tables of sweeps
HEAD = ("Run", "State", "Machine")  # facts that stand first
TAIL = ("Preset", "Order")
INDENT = "  "
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
    if report.compat:
        return text_of(milabench_blocks(report), sys.maxsize)
    return text_of(report_blocks(report), width)


def report_blocks(report: Report) -> Iterator[Block]:
    """The verdict, what broke, what is slow or unsure; then the numbers; then what to type next."""
    yield Section([Line(verdict(report), rest=INDENT), *facts_of(report.runs, HEAD)])
    yield Section([Fact("Nodes", tuple(nodes_told(report.verdicts))), *_evidence(report)])
    yield Section(broken(report))
    yield Section(warnings(report))
    yield Section(checked(report))
    lost = set(report.unmeasured) & {failure.benchmark for failure in report.failures}
    rows = [row for row in report.rows if row.name not in lost]
    if rows:
        table = TableBlock(compact(main_table(rows)), tuple(stay()))
        score_of = [Fact("Score", (report.score.told,))] if report.score.is_told else []
        yield Section([table, *score_of])
    if compared := TABLES["speedup"](report.rows):
        yield Section([TableBlock(compared)])
    for sweep in sweeps_of(report, METRIC, fewest_axes=2):
        yield Section(_of_sweep(sweep), _title(sweep))
    yield Section(to_do(report))
    yield Section(outputs(report, len(rows)))
    yield Section([*facts_of(report.runs, TAIL), *_rest(report), *_next(report)])


def _evidence(report: Report) -> Iterator[Fact]:
    for run in report.runs if report.verdicts else ():
        folder = run.path / "evidence"
        if folder.is_dir():
            yield Fact("Evidence", (str(folder),))


def _rest(report: Report) -> Iterator[Fact]:
    skipped = [each for run in report.runs for each in run.skipped]
    yield Fact("Not run", tuple(skipped_sentences(skipped)))
    yield Fact("Traces", tuple(traces(report)))
    noted = alike(report, Severity.NOTE)
    yield Fact("Notes", tuple(chain.from_iterable(map(told_together, noted))))


def _next(report: Report) -> Iterator[Fact]:
    of = shlex.join(str(run.path) for run in report.runs)
    told = [f"milabench report {of} --open: charts, in a browser"]
    if report.failures:
        told.insert(0, f"milabench report {of} --failures: what each printed, how to repeat it")
    told[:0] = [f"{run.resume}: run what has no result" for run in report.runs if run.resume]
    of_report = {"verdicts": report.verdicts, "findings": report.findings}
    names = [*tables_with_rows(report.rows), *(name for name, has in of_report.items() if has)]
    if names:
        told.append(f"--table {', '.join(names)}")
    yield Fact("Next", tuple(told))


def milabench_blocks(report: Report) -> Iterator[Block]:
    for run in report.runs:
        yield Section(facts_of([run], HEAD + TAIL))
    yield Section([Line(MILABENCHS)])
    yield Section(broken(report))
    yield Section(warnings(report))
    yield Section([TableBlock(milabench_table(report.rows)) if report.rows else NOTHING])
    rate = Line(f"Failure rate:  {failure_rate(report)}")
    yield Section([rate, Line(f"Score:         {report.score.told:>10}")])
    yield Section(_rest(report))
    yield Section(failures(report), "Failures")


def folded_blocks(report: Report) -> Iterator[Block]:
    yield Headline(verdict(report))
    facts: list[Block] = list(facts_of(report.runs, HEAD + TAIL))
    facts.append(Fact("Nodes", tuple(nodes_told(report.verdicts))))
    if report.compat or report.score.is_told:
        facts.append(Fact("Score", (report.score.told,)))
    if report.compat:
        facts.append(Bullet(MILABENCHS))
    yield Section(facts)
    yield Section([*broken(report), *warnings(report), *checked(report)])
    table = table_of(report)
    if report.rows:
        yield TableBlock(table if report.compat else compact(table))
    else:
        yield NOTHING
    yield Fold("What to do about the failures", to_do(report))
    for group in failures_of_benchmarks(report):
        for alike_ones in group if group[0][0].tag else ():  # else the cause tells all
            yield Fold(failure_sentence(alike_ones[0]), output(alike_ones))
    for severity in (Severity.ERROR, Severity.WARNING):
        for found in alike(report, severity):
            if len(found) > FEW:
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
    yield Headline(sweep.metric, sweep.meaning)
    yield from _of_sweep(sweep)
    yield Section(Line(each, "skipped: ", "  ") for each in skipped_sentences(sweep.skipped))


def _title(sweep: Sweep) -> str:
    return f"{METRIC.capitalize()} of {sweep.name or 'the sweep'}"


def _of_sweep(sweep: Sweep) -> Iterator[Block]:
    numbers: dict[str, int] = {}
    for title in sweep.blocks:
        table = TableBlock(block_table(sweep, title, numbers), is_ruled=True)
        yield Section([Caption(title), table] if title else [table])
    yield Section(Line(note, f"[{number}] ") for note, number in numbers.items())


def facts_of(runs: Iterable[RunInfo], names: Collection[str]) -> Iterator[Fact]:
    """What was run, when and where, by these names; what several runs share is told once."""
    told: dict[str, str] = {}
    for run in runs:
        facts = run_facts(run)
        for name in names:
            if facts[name] and told.get(name) != facts[name]:
                yield Fact(name, (facts[name],))
        told |= facts


def _bullets(findings: Iterable[Finding]) -> Iterator[Bullet]:
    for finding in findings:
        yield Bullet(finding.sentence)


def failure_rate(report: Report) -> str:
    rate = report.failure_rate
    if math.isnan(rate):
        return "none: nothing was measured"
    verdict = "PASS" if report.passed else "FAIL"
    if not rate and not report.passed:
        verdict += ": nothing was measured in every benchmark"
    return f"{rate:10.2%} ({verdict})"


def traces(report: Report) -> Iterator[str]:
    for run in report.runs:
        for name, files in run.traces.items():
            yield f"{name}: {shown_names([str(file) for file in files], 1)}"
