"""Findings: what was left out, what is wrong, and what stands out.

To add one, write its function, below ``@finding``, in the file of its subject; all that is said of
it stands there. A function searches in a ``Row``, and its sentence begins with the benchmark's
name, or ``of_runs`` in all ``Measurements``.

An error is what breaks a run or a machine, and what makes a number a wrong one: a run with one has
not passed. A warning is about a number that is right, but unsure, or not what the machine could
reach.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ..finding import Finding
from ..model import Row
from . import (
    bottlenecks,
    device_faults,
    failed,
    gradients,
    losses,
    missing_ranks,
    node_differences,
    peaks,
    program_environment,
    rank_memory,
    rate_problems,
    run_differences,
    slow,
    slow_links,
    steps,
    throttling,
    unsteady,
)
from .finder import Finder, Measurements

SUBJECTS = (  # in the order in which their findings are shown
    failed,
    run_differences,
    node_differences,
    device_faults,
    missing_ranks,
    program_environment,
    rate_problems,
    peaks,
    unsteady,
    rank_memory,
    losses,
    bottlenecks,
    throttling,
    slow,
    steps,
    slow_links,
    gradients,
)
FINDERS: dict[str, Finder] = {
    name: each
    for subject in SUBJECTS
    for name, each in vars(subject).items()
    if isinstance(each, Finder)
}


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings, the worst first; those of a name stand together, in the order of the files."""
    found: list[Finding] = []
    for finder in FINDERS.values():
        if finder.of_runs:
            found += finder.findings(measured)
    order = {name: place for place, name in enumerate(FINDERS)}
    of_rows = [each for row in measured.rows for each in findings_of_row(row)]
    found += sorted(of_rows, key=lambda finding: order[finding.name])
    return tuple(sorted(found, key=lambda finding: finding.severity.rank))


def findings_of_row(row: Row) -> Iterator[Finding]:
    """The findings about a benchmark; each names it."""
    for finder in FINDERS.values():
        for finding in () if finder.of_runs else finder.findings(row):
            sentence = finding.sentence
            if not sentence.startswith(f"{row.name}."):  # the tag of a process
                sentence = f"{row.name}: {sentence}"
            yield replace(finding, sentence=sentence, benchmark=row.name)
