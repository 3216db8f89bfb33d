"""Reads each run by itself, with the document of its report: tidy tables never pool runs."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ...results.run_folders import run_folders
from ..assemble import report_of
from ..document.make_document import document_of
from ..document.report_document import ReportDocument
from ..model import Report
from ..process import ProcessResult


class ReportedRun(Struct, frozen=True, dict=True):
    """A run, with its report."""

    folder: str
    report: Report

    @cached_property
    def document(self) -> ReportDocument:
        return document_of(self.report)

    @cached_property
    def processes(self) -> list[ProcessResult]:
        return [process for row in self.report.rows for process in row.processes]

    @cached_property
    def tellers(self) -> dict[tuple[str, ...], ProcessResult]:
        """The process that tells the rate of each job; on several nodes, one tells for all."""
        found: dict[tuple[str, ...], ProcessResult] = {}
        for process in self.processes:
            if process.series is not None:
                found.setdefault(process.record.job, process)
        return found


def read_runs(words: Iterable[str | Path]) -> Iterator[ReportedRun]:
    """Each run that these words name, one after the other.

    Raises:
        RunDirError: one of them is not a run.
    """
    for folder in run_folders(words):
        yield ReportedRun(str(folder), report_of([folder]))
