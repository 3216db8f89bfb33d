"""Findings: what was left out, what is wrong, and what stands out.

To add one, write its function, below ``@finding``, in the file of its subject; all that is said of
it stands there. A function searches in a ``Row``, and its sentence begins with the benchmark's
name, or in all ``Measurements``, as the type of its argument says.

An error is what breaks a run or a machine, and what makes a number a wrong one: a run with one has
not passed. A warning is about a number that is right, but unsure, or not what the machine could
reach.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from ...errors import contained
from ..finding import KINDS, Checked, Finding
from ..model import Row
from ..suspects import explained
from . import (
    below_peers,
    bits_differ,
    bottlenecks,
    device_faults,
    failed,
    failed_nodes,
    gradients,
    isolated,
    losses,
    missing_ranks,
    node_differences,
    peaks,
    planted,
    program_environment,
    rank_memory,
    rate_problems,
    run_differences,
    settings_audit,
    slow,
    slow_links,
    steps,
    throttling,
    unsteady,
)
from .finder import Finder, Looked, Measurements

SUBJECTS = (  # in the order in which their findings are shown
    failed, failed_nodes, isolated, run_differences, node_differences, settings_audit,
    device_faults, missing_ranks, program_environment, rate_problems, peaks, unsteady, rank_memory,
    losses, bottlenecks, throttling, below_peers, slow, steps, slow_links, gradients, bits_differ,
    planted,
)  # fmt: skip
FINDERS: dict[str, Finder] = {
    name: each
    for subject in SUBJECTS
    for name, each in vars(subject).items()
    if isinstance(each, Finder)
}


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings, the worst first, then the dearest; those of a name stand together."""
    found: list[Finding] = []
    for finder in FINDERS.values():
        if finder.of_runs:
            found += finder.findings(measured)
    total = math.fsum(row.weight for row in measured.rows)
    for row in measured.rows:
        found += findings_of_row(row, row.weight / total if total else 1 / len(measured.rows))
    costs: dict[str, float] = defaultdict(float)
    for each in found:
        costs[each.name] += each.cost or 0.0
    names = list(FINDERS)

    def place(each: Finding) -> tuple[float, ...]:
        return (
            each.severity.rank,
            KINDS.index(each.kind),
            -costs[each.name],
            names.index(each.name),
            -(each.cost or 0.0),
        )

    return tuple(sorted(found, key=place))


def findings_of_row(row: Row, weight: float = 1.0) -> Iterator[Finding]:
    for finder in FINDERS.values():
        for finding in () if finder.of_runs else finder.findings(row, weight):
            sentence = finding.sentence
            if not sentence.startswith(f"{row.name}."):  # the tag of a process
                sentence = f"{row.name}: {sentence}"
            yield explained(replace(finding, sentence=sentence, benchmark=row.name), row)


def checks_of(measured: Measurements, findings: Sequence[Finding]) -> tuple[Checked, ...]:
    """What was looked for, in the order of the files; not where nothing can have it."""
    rows = {row.name: row for row in measured.rows}
    told = [FINDERS[finding.name].looks_for.split(", ") for finding in findings]
    counts = Counter(chain.from_iterable(told))
    checks = []
    for finder in FINDERS.values():
        among = finder.among
        if among is None:
            continue
        compared: dict[str, int] = {}
        unknown: dict[str, list[str]] = defaultdict(list)
        for name, subject in ({"": measured} if finder.of_runs else rows).items():
            looked: Looked = 0
            with contained(lambda _: None):  # the search fails, too, and is a finding
                looked = among(subject)
            if isinstance(looked, str):
                unknown[looked].append(name)
            elif looked:
                compared[name] = looked
        if compared or unknown:
            why = {reason: tuple(names) for reason, names in unknown.items()}
            checks.append(
                Checked(finder.looks_for, finder.name, counts[finder.looks_for], compared, why)
            )
    return tuple(checks)
