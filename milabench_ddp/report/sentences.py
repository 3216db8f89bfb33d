"""Sentences that several formats share: the verdict, the score, what was run, what failed."""

import re
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from ..config.schema import SkippedBenchmark
from ..errors import count_text, shown_names
from ..events import Outcome
from ..grouping import grouped
from ..hostlist import shown_nodes
from .failure_causes import causes_of
from .finding import Finding, Severity
from .model import Failure, Report
from .node_verdict import NodeVerdict, Word, worst
from .run_info import RunInfo

NAMES = 5  # in a sentence
FEW = 3  # of names that other sentences tell, too
REASONS, MOST_TOLD = 3, 12  # of a node; of nodes that do not pass
_SOURCE = re.compile(r" \([^()]*:\d+\)$")  # the place in the configuration: (file:line)
_PRESET = re.compile(r"(disabled by the preset [^:]+): .*")  # `milabench list` says why


def verdict(report: Report) -> str:
    failed = {failure.benchmark for failure in report.failures}
    lost = failed.union(report.unmeasured, *(run.running for run in report.runs))
    well = sum(row.name not in lost for row in report.rows)
    names = {row.name for row in report.rows}.union(*(run.waiting for run in report.runs))
    if report.verdicts and not report.goes_on and not report.cancelled:
        return of_nodes(report.verdicts)
    said = f"{well} of {count_text(len(names), 'benchmark')} ok"
    if without := sum(bool(row.why_no_rate) for row in report.rows):
        said += f" ({without} without a rate)"
    if report.passed:
        return f"PASS: {said}"
    if report.cancelled:
        return "; ".join([f"CANCELLED: {said}", *report.errors[:1]])
    if failed:
        causes = len(causes_of(report))
        why = f", for {causes} causes" if causes > 1 else ""
        return f"FAIL: {said}, {len(failed)} failed{why}"
    if report.goes_on:
        return f"none yet: the run goes on; {said}, none failed so far"
    if not report.has_measured:
        return "FAIL: nothing was measured"
    if report.unmeasured:
        return f"FAIL: {said}; nothing was measured in {shown_names(report.unmeasured, NAMES)}"
    if not report.succeeded:
        outcomes = dict.fromkeys(run.outcome for run in report.runs if run.outcome != Outcome.OK)
        return f"FAIL: {said}, but the run was {' and '.join(filter(None, outcomes))}"
    first, *others = (each for each in report.findings if each.severity is Severity.ERROR)
    more = f"; {count_text(len(others), 'more error')}" if others else ""
    return f"FAIL: {said}, but {first.sentence}{more}"


def of_nodes(verdicts: Sequence[NodeVerdict]) -> str:
    counts = Counter(each.verdict for each in verdicts)
    said = f"{counts[Word.PASS]} of {count_text(len(verdicts), 'node')} pass"
    if counts[Word.FAIL]:
        said += f", {counts[Word.FAIL]} fail"
    if counts[Word.CANNOT_TELL]:
        said += f", of {counts[Word.CANNOT_TELL]} it cannot be told"
    return f"{worst(verdicts).upper()}: {said}"


def nodes_told(verdicts: Sequence[NodeVerdict]) -> Iterator[str]:
    """What is said of each node of a validation, once for all of which it is the same.

    Of many that differ, the rest is counted; all that pass are one.
    """
    alike = grouped(((each.verdict, each.reasons, each.action), each.node) for each in verdicts)
    untold = 0
    for number, key in enumerate(sorted(alike, key=lambda key: list(Word).index(key[0]))):
        word, reasons, action = key
        if number >= MOST_TOLD and word is not Word.PASS:
            untold += len(alike[key])
            continue
        said = [f"{word}: {shown_nodes(alike[key])}"]
        if reasons:
            said.append("; ".join(reasons[:REASONS]))
        what = f" -> {action}" if action else ""
        yield ": ".join(said) + what
    if untold:
        yield f"and {count_text(untold, 'node')} more that do not pass: --table verdicts has all"


def run_facts(run: RunInfo) -> dict[str, str]:
    outcome = "still going on" if run.outcome is None else run.outcome
    path = str(run.path)
    states = [f"running: {shown_names(run.running, FEW)}"] if run.running else []
    # in a run that has ended, a benchmark that waits never ran, and is among the failures
    if run.waiting and run.outcome is None:
        states.append(f"waiting: {shown_names(run.waiting, FEW)}")
    machine = run.host, run.devices or run.arch, run.cpu, run.version
    return {
        "Run": ", ".join(filter(None, (f"{path}: {outcome}" if outcome else path, _time(run)))),
        "State": "; ".join(states),
        "Machine": "; ".join(filter(None, machine)),
        "Preset": _preset(run),
        "Order": "" if run.seed is None else f"random: --shuffle --seed {run.seed}",
    }


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


def skipped_sentences(all_skipped: Iterable[SkippedBenchmark]) -> Iterator[str]:
    """A sentence for each reason, in the order in which they first appear."""
    by_reason = grouped((skip_reason(skipped), skipped.name) for skipped in all_skipped)
    for reason, names in by_reason.items():
        yield f"{shown_names(list(dict.fromkeys(names)), FEW)}: {reason}"


def skip_reason(skipped: SkippedBenchmark) -> str:
    """Why a benchmark did not run, without what tells it from others of the same reason."""
    return _PRESET.sub(r"\1", _SOURCE.sub("", skipped.reason))


def failure_sentence(failure: Failure) -> str:
    where, reason = failure.tag or failure.benchmark, failure.reason
    if failure.rank is not None:
        where += f", rank {failure.rank}"
        reason = reason.removeprefix(f"rank {failure.rank}: ")
    return ": ".join(filter(None, (where, failure.outcome, reason)))


def failures_of_benchmarks(report: Report) -> Iterator[list[list[Failure]]]:
    """The failures of each benchmark in each run, those that are alike together."""
    for _, group in groupby(report.failures, key=attrgetter("benchmark", "folder")):
        together = grouped(((each.outcome, each.reason, each.lines), each) for each in group)
        yield list(together.values())


def alike(report: Report, severity: Severity) -> list[list[Finding]]:
    found = [finding for finding in report.findings if finding.severity is severity]
    return list(grouped((finding.name, finding) for finding in found).values())


def commands_of(report: Report, name: str) -> Iterator[str]:
    """The commands of bash that run a benchmark again, one for each run that has its script."""
    for run in report.runs:
        if name in run.scripts:
            yield f"bash {shlex.quote(str(run.scripts[name]))}"
