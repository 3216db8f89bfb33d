"""The tidy tables of runs: one line is one thing, and one column one number of it.

A new table is a type of lines, a function that makes them, and a line in ``TIDY_TABLES``.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from operator import attrgetter

from msgspec import Struct

from .columns import TidyColumn, columns_of
from .lines import BenchmarkLine, EventLine, FindingLine, RankLine, RunLine
from .make_lines import benchmark_lines, finding_lines, rank_lines, run_lines
from .make_series import event_lines, host_sample_lines, rate_lines, sample_lines, step_lines
from .read_runs import ReportedRun
from .series_lines import HostSampleLine, RateLine, SampleLine, StepLine

Values = tuple[object, ...]


class TidyTable(Struct, frozen=True, dict=True):
    """A table: the type of its lines, and the function that makes them."""

    line: type
    lines: Callable[[ReportedRun], Iterator[object]]

    @cached_property
    def columns(self) -> tuple[TidyColumn, ...]:
        return columns_of(self.line)

    def rows(self, run: ReportedRun) -> Iterator[Values]:
        """The values of each line of a run, in the order of the columns."""
        return map(self.values_of, self.lines(run))

    @cached_property
    def values_of(self) -> Callable[[object], Values]:
        return attrgetter(*(column.name for column in self.columns))


TIDY_TABLES: Mapping[str, TidyTable] = {
    "runs": TidyTable(RunLine, run_lines),
    "benchmarks": TidyTable(BenchmarkLine, benchmark_lines),
    "ranks": TidyTable(RankLine, rank_lines),
    "steps": TidyTable(StepLine, step_lines),
    "rates": TidyTable(RateLine, rate_lines),
    "samples": TidyTable(SampleLine, sample_lines),
    "host_samples": TidyTable(HostSampleLine, host_sample_lines),
    "events": TidyTable(EventLine, event_lines),
    "findings": TidyTable(FindingLine, finding_lines),
}
