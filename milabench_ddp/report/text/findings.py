"""The findings in the text report: errors and warnings first, notes below the tables."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from ...wrapped import wrapped
from ..model import Report, Severity

MOST_ALIKE = 5  # findings of a name


def errors_and_warnings(report: Report, width: int) -> Iterator[str]:
    """How many findings there are, then the errors and the warnings."""
    counts = Counter(finding.severity for finding in report.findings)
    told = [_count(counts[severity], severity) for severity in Severity if counts[severity]]
    if told:
        below = " (below the tables)" if counts[Severity.NOTE] else ""
        yield f"Findings: {', '.join(told)}{below}"
    elif report.rows and not report.compat:
        yield "Findings: none"
    for severity in (Severity.ERROR, Severity.WARNING):
        yield from _alike(report, severity, width, MOST_ALIKE, f"  {severity:8} ")


def notes(report: Report, width: int, most: int = MOST_ALIKE) -> Iterator[str]:
    """The notes; of each name the first ``most``."""
    return _alike(report, Severity.NOTE, width, most)


def _alike(
    report: Report, severity: Severity, width: int, most: int, head: str = ""
) -> Iterator[str]:
    """The findings of a severity: of each name the first few, and what to do about them."""
    found = [finding for finding in report.findings if finding.severity is severity]
    for _, group in groupby(found, key=lambda finding: finding.name):
        alike = list(group)
        indent = " " * len(head)
        for finding in alike[:most]:
            yield from wrapped(finding.sentence, width, head, indent or "  ")
        more = len(alike) - most
        if more > 0:
            rest = f"... and {more} more like {'this' if most == 1 else 'these'}"
            yield from wrapped(f"{rest}: --table findings has all", width, indent or "  ")
        if alike[0].advice and head:
            yield from wrapped(alike[0].advice, width, f"{indent}-> ")


def _count(count: int, severity: Severity) -> str:
    return f"{count} {severity}{'s' * (count != 1)}"
