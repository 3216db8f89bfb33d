"""What a reader sees first: what broke and why, what is slow or unsure, what was looked for."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..errors import shown_names
from ..render.blocks import Fact, Findings
from .failure_causes import Cause, causes_of
from .finding import Checked, Finding, Severity, filled
from .findings import FINDERS
from .findings.failed import OF_CAUSES
from .model import Report
from .sentences import alike

FULL = 8  # causes that are told with all that they hit and with advice; more have a line each
FEW = 2  # findings of a kind that have a sentence each, where no shorter one is of all
FEW_OF_RUN = 5  # the same of nodes, files and runs, whose sentences may tell different things


def broken(report: Report) -> Iterator[Findings]:
    causes = causes_of(report)
    if len(causes) > FULL:
        lines = tuple(f"{shown_names(cause.where)}: {cause.text}" for cause in causes)
        yield Findings("failed", lines, in_columns=True)
    else:
        for cause in causes:
            yield Findings("failed", (cause_sentence(cause),), cause.advice)
    for cause in causes_of(report, cancelled=True):
        yield Findings("stopped", (cause_sentence(cause),))
    told = "\n".join(cause.text for cause in causes)
    for group in alike(report, Severity.ERROR):
        others = [finding for finding in group if finding.sentence not in told]
        if others and others[0].name not in OF_CAUSES:
            yield Findings("error", told_together(others), advice_of(others))


def warnings(report: Report) -> Iterator[Findings]:
    for group in alike(report, Severity.WARNING):
        label = "warning" if group[0].kind == "other" else group[0].kind
        yield Findings(label, told_together(group), advice_of(group))


def cause_sentence(cause: Cause) -> str:
    if len(cause.where) == 1:
        return f"{cause.where[0]}: {cause.text}"
    return f"{cause.text}, in {len(cause.where)}: {', '.join(cause.where)}"


def to_do(report: Report) -> Iterator[Fact]:
    causes = causes_of(report)
    if len(causes) > FULL:
        told = [" -> ".join(filter(None, (cause_sentence(one), one.advice))) for one in causes]
        yield Fact("To do", tuple(told))


def advice_of(group: Sequence[Finding]) -> str:
    return "; ".join(filter(None, dict.fromkeys(finding.advice for finding in group)))


def told_together(group: Sequence[Finding]) -> tuple[str, ...]:
    first, finder = group[0], FINDERS.get(group[0].name)
    is_short = finder is not None and bool(finder.many)
    few = FEW if first.benchmark else FEW_OF_RUN
    if len(group) == 1 or (len(group) <= few and not is_short):
        return tuple(finding.sentence for finding in group)
    benchmarks = {finding.benchmark: finding for finding in reversed(group)}
    if finder is None or not is_short:
        where = f", in {len(benchmarks)} benchmarks" if len(benchmarks) > 1 else ""
        return (f"{first.sentence} ({len(group) - 1} more like it{where}: --table findings)",)
    each = []
    for finding in reversed(benchmarks.values()):
        words = {"benchmark": finding.benchmark, "place": finding.place, **finding.evidence}
        each.append(filled(finder.each, words))
    counts = {"findings": len(group), "count": len(benchmarks), "all": shown_names(each)}
    return (finder.many.format_map(counts),)


def checked(report: Report) -> Iterator[Fact]:
    """What was looked for and not found, and what could not be looked for."""
    told = []
    clean = [check for check in report.checks if check.compared and not check.found]
    if clean:
        told.append(f"nothing found: {', '.join(map(_among, clean))}")
    unknown: dict[str, list[str]] = defaultdict(list)
    for check in report.checks:
        for reason, names in check.not_compared.items():
            where = "" if len(check.not_compared) == 1 and not check.compared else _in(names)
            unknown[reason].append(f"{check.looks_for}{where}")
    if unknown:
        why = [f"{', '.join(what)}: {reason}" for reason, what in unknown.items()]
        told.append(f"not possible: {'; '.join(why)}")
    yield Fact("Checked", tuple(told))


def _among(check: Checked) -> str:
    counts = sorted(set(check.compared.values()))
    low, high = counts[0], counts[-1]
    count = f"{low}" if low == high else f"{low} to {high}"
    return f"{check.looks_for} ({count}{_in(list(check.compared))})"


def _in(names: Sequence[str]) -> str:
    few = ", ".join(names) if len(names) <= FEW else f"{len(names)} benchmarks"
    return f" in {few}" if any(names) else ""
