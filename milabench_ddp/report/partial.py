"""Parts of the report about a run that goes on: one launch, or one benchmark."""

from collections.abc import Iterable, Sequence
from glob import escape

from ..results.read import read_events
from ..results.records import Record, Run
from ..results.run_dir import RunDir
from .finding import Finding, Severity
from .findings import findings_of_row
from .model import Row
from .node_verdict import Word
from .process import ProcessResult, units_of
from .statistics.interval import Series
from .summary import summary_row
from .validation.peers import judged

LARGEST = 4 << 20  # bytes of a benchmark's files that are read while others may be measured


def launch_series(run: RunDir, tags: Iterable[str]) -> list[Series]:
    """The steady state of each process of a launch that has ended; empty if none measured any."""
    results = _processes(run, [read_events(run.data(tag)) for tag in tags])
    processes = [process for process in results if not process.failed]
    if len(units_of(processes)) > 1:
        return []
    return [process.series for process in processes if process.series is not None]


def findings_of_benchmark(run: RunDir, name: str) -> list[Finding]:
    """The warnings and errors about a benchmark that has ended, the worst first.

    Those that need other benchmarks or runs are left to the report, and so are large files.
    """
    row = _row(run, name)
    found = findings_of_row(row) if row else ()
    serious = [finding for finding in found if finding.severity is not Severity.NOTE]
    return sorted(serious, key=lambda finding: finding.severity.rank)


def fails_a_node(run: RunDir, name: str) -> bool:
    """Whether a benchmark of a validation has a node below its peers; large files are not read."""
    row = _row(run, name)
    return row is not None and any(each.word is Word.FAIL for each in judged(row))


def _row(run: RunDir, name: str) -> Row | None:
    paths = sorted(run.path.glob(f"{escape(name)}.*.data"))
    try:
        size = sum(path.stat().st_size for path in paths)
    except OSError:
        return None
    if size > LARGEST:
        return None
    records = [record for record in map(read_events, paths) if record.name == name]
    return summary_row(processes, None) if (processes := _processes(run, records)) else None


def _processes(run: RunDir, records: Sequence[Record]) -> list[ProcessResult]:
    whole = Run(run.path, None, tuple(records), ())
    return [ProcessResult(whole, record) for record in records]
