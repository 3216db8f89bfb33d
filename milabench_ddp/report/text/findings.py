"""The findings in the text report: errors and warnings first, notes below the tables."""

from collections.abc import Iterator

from ...wrapped import wrapped
from ..finding import Severity
from ..model import Report
from ..sentences import alike, findings_counted

MOST_ALIKE = 5  # findings of a name


def errors_and_warnings(report: Report, width: int) -> Iterator[str]:
    """How many findings there are, then the errors and the warnings."""
    if told := findings_counted(report):
        below = " (below the tables)" if report.notes else ""
        yield f"Findings: {told}{below}"
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
    indent = " " * len(head)
    for group in alike(report, severity):
        for finding in group[:most]:
            yield from wrapped(finding.sentence, width, head, indent or "  ")
        more = len(group) - most
        if more > 0:
            rest = f"... and {more} more like {'this' if most == 1 else 'these'}"
            yield from wrapped(f"{rest}: --table findings has all", width, indent or "  ")
        if group[0].advice and head:
            yield from wrapped(group[0].advice, width, f"{indent}-> ")
