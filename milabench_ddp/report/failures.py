"""Failures of processes and benchmarks: the reason, the last output, and the word in a table."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..errors import LONGEST_MESSAGE, shortened, shown_names
from ..events import OUT_OF_MEMORY, Outcome, Verdict, exit_reason
from ..results.read_state import DAMAGED, GONE
from ..results.records import Run, error_text
from ..results.run_dir import RunDir, names_a_file
from ..tracebacks import FRAME, GROUP, OF_RANK, TRACEBACK
from .model import Failure, Report, Row
from .output import BAR, SHOWN, cut, failed_rank, first_stack, of_rank, tail
from .process import ProcessResult
from .run_info import RunInfo

SHOWN_TAGS = 3  # in a sentence
NO_RECORDS = "its records are missing, or cannot be read"
NEVER_RAN = "it never ran: the configuration has it enabled, and no run has a file of it"

_SEE = re.compile(r" \(see .*?\)")
_RANK = re.compile(r"rank (\d+): ")
EXCEPTION = re.compile(
    r"^(?:\S+: )?(?:rank \d+: )?(?:exit status \d+: )?"
    r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b"
)


def process_failure(process: ProcessResult) -> Failure:
    record, verdict = process.record, process.verdict
    stack, whole_stacks = first_stack(record.path)
    lines, whole = tail(record.path, "stderr")
    if all(map(BAR.fullmatch, lines)):
        printed = tail(record.path, "stdout")
        lines, whole = printed if printed[0] else (lines, whole)
    rank = failed_rank(lines)
    errors = [each for each in record.errors if each.get("rank") == rank] or record.errors
    error = errors[0] if errors else {}
    if type(error.get("rank")) is int:
        rank = error["rank"]
    told = shortened(error_text(error), LONGEST_MESSAGE)
    reason = verdict.reason if verdict and verdict.reason else told
    if found := _RANK.match(reason):
        rank = int(found[1])
    trace = str(error.get("trace") or "").rstrip()
    said = trace.split("\n") if trace else of_rank(lines, rank)
    if reason == exit_reason(1) and "outcome" not in (record.end or {}):  # a file of milabench's
        reason = ": ".join(filter(None, (reason, _raised(list(map(_unmarked, said))))))
    said = said[-SHOWN:]
    if stack:
        rank, whole, said = None, whole_stacks, stack[:SHOWN]
    return Failure(
        benchmark=record.name,
        run=process.run.name,
        tag=record.tag,
        outcome=process.status,
        reason=reason,
        rank=rank,
        lines=tuple(map(cut, said)),
        whole=whole,
        folder=process.run.path,
        script=_script(process.run, record.name),
    )


def _script(run: Run, benchmark: str) -> Path | None:
    path = RunDir(run.path).script(benchmark)
    return path if names_a_file(benchmark) and path.exists() else None


def benchmark_failures(
    runs: Sequence[Run], failed: Sequence[Failure], enabled: Iterable[str]
) -> list[Failure]:
    """The failures of whole benchmarks, such as those of which no process ever ran.

    Args:
        failed: the failures of processes; a benchmark that has one in a run is not repeated.
        enabled: the enabled benchmarks of the configuration; empty without one.
    """
    found: list[Failure] = []
    never_ran = set(enabled)
    for run in runs:
        found += _of_run(run, failed)
        never_ran -= {record.name for record in run.records}
        never_ran -= {skipped.name for skipped in run.skipped}
        if run.state is not None:
            never_ran -= run.state.benchmarks.keys()
    for name in sorted(never_ran):
        found.append(Failure(name, "", None, Outcome.LOST, NEVER_RAN))
    return found


def missing_records(runs: Sequence[Run]) -> Iterator[Failure]:
    """The benchmarks some of whose processes ended, but have no file that counts."""
    for run in runs:
        for name, tags in run.missing.items():
            shown = shown_names([f"{tag}.data" for tag in tags], SHOWN_TAGS)
            reason = f"{NO_RECORDS}: {shown}"
            yield Failure(name, run.name, None, Outcome.LOST, reason, folder=run.path)


def _of_run(run: Run, failed: Sequence[Failure]) -> Iterator[Failure]:
    if run.state is None:
        return
    with_files = {record.name for record in run.records}
    explained = {failure.benchmark for failure in failed if failure.folder == run.path}
    for name, state in run.state.benchmarks.items():
        outcome, reason = str(state.status), state.reason
        if not state.status.has_ended:
            continue  # it will end
        if outcome in (Outcome.OK, Outcome.SKIPPED) or name in explained:
            continue
        is_told = outcome == Outcome.NOT_BEGUN or reason in (DAMAGED, GONE)
        if name not in with_files and name not in run.missing and not is_told:
            reason = f"it never ran: {reason}" if reason else "it never ran"
        script = _script(run, name)
        yield Failure(name, run.name, None, outcome, reason, folder=run.path, script=script)


class CellState(Struct, frozen=True):
    """A word that replaces the number in a cell, and the reason, which is shown below the table.

    ``Traceback``: an exception ended it; ``oom``: a device or the host ran out of memory;
    ``failed``: it failed in another way. The other outcomes are ``timeout``, ``cancelled``,
    ``lost``, ``not begun`` and ``skipped``. ``running`` and ``waiting..`` have not ended.
    """

    word: str
    reason: str = ""


def cell_state(report: Report, row: Row) -> CellState | None:
    """The state of a benchmark; None if it ended ok or its state is not known."""
    failures = [failure for failure in report.failures if failure.benchmark == row.name]
    if failure := decisive_failure(row.name, failures, report.runs):
        return state_of_failure(failure)
    for run in report.runs:
        for skipped in run.skipped:
            if skipped.name == row.name and not row.n:
                return CellState("skipped", skipped.reason)
        if row.name in run.running:
            return CellState("running")
        if row.name in run.waiting and run.outcome is None:
            return CellState("waiting..")
    return None


def decisive_failure(
    name: str, failures: Sequence[Failure], runs: Iterable[Run | RunInfo]
) -> Failure | None:
    """The failure that decided how a benchmark ended; None if it did not fail."""
    for run in runs:
        verdict = run.verdicts.get(name)
        if verdict is not None and verdict.outcome not in (Outcome.OK, Outcome.SKIPPED):
            return _of_verdict(name, verdict, [f for f in failures if f.folder == run.path])
    return next((each for each in failures if each.lines), next(iter(failures), None))


def _of_verdict(name: str, verdict: Verdict, failures: Sequence[Failure]) -> Failure:
    """The failure of a benchmark by its verdict, with the lines of the process that it names.

    The other processes may have ended in other ways, because of this one.
    """
    known = [failure for failure in failures if failure.outcome == verdict.outcome]
    named = [failure for failure in known if _names(verdict.reason, failure)]
    for failure in (*named, *known):
        return replace(failure, reason=verdict.reason or failure.reason)
    return Failure(name, "", None, verdict.outcome, verdict.reason)


def _names(reason: str, failure: Failure) -> bool:
    """Whether the reason of a benchmark is that of a process; a node's name may stand before it."""
    node, _, rest = reason.partition(": ")
    if reason == failure.reason:
        return True
    return rest == failure.reason and node in (failure.tag or "").split(".")


def state_of_failure(failure: Failure) -> CellState:
    lines = [_unmarked(line) for line in failure.lines if is_of(failure.rank, line)]
    raised = _raised(lines)
    if not raised and EXCEPTION.match(failure.reason):
        raised = failure.reason
    state = CellState(failure.outcome, failure.reason)
    if failure.outcome != Outcome.FAILED:
        return state
    reason = _SEE.sub("", failure.reason)  # a path may have any word in it
    if OUT_OF_MEMORY.search("\n".join((reason, *lines))):
        return CellState("oom", raised if OUT_OF_MEMORY.search(raised) else failure.reason)
    if raised:
        return CellState("Traceback", raised)
    last = next(filter(None, reversed(lines)), "")
    return CellState(failure.outcome, failure.reason or last)


def is_of(rank: int | None, line: str) -> bool:
    found = OF_RANK.match(line)
    return rank is None or not found or int(found[1]) == rank


def _unmarked(line: str) -> str:
    if found := OF_RANK.match(line):
        line = found[2].removeprefix(" ")
    return GROUP.sub("", line).rstrip()


def _raised(lines: Sequence[str]) -> str:
    """The line that names the exception; empty without one.

    It is the first line after the last traceback that is not indented. The exception's message can
    go on for any number of lines, and the beginning of the traceback can be cut off.
    """
    rest: Sequence[str] = ()
    for number, line in enumerate(lines, start=1):
        if line == TRACEBACK or (FRAME.match(line) and not rest):
            rest = lines[number:]
    for line in rest:
        if line and not line[0].isspace():
            return line
    return ""
