"""The tidy tables of runs, for scripts and notebooks."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct

from ...errors import SelectionError, one_of
from ..document.report_document import ReportDocument
from .lines import BenchmarkLine, EventLine, FindingLine, RankLine, RunLine
from .read_runs import read_runs
from .series_lines import (
    HostSampleHead,
    HostSampleLine,
    RateLine,
    SampleHead,
    SampleLine,
    StepLine,
)
from .tidy_tables import TIDY_TABLES, TidyTable

if TYPE_CHECKING:
    import pandas

Line = TypeVar("Line")
PANDAS: Mapping[type, str] = {str: "object", int: "Int64", float: "float64", bool: "bool"}


class RunTables:
    """The tables of runs, each as a list of records, or as a data frame of pandas.

    Each run is reported on by itself: runs are never pooled. A number that is not known is NaN or
    None in a record, and missing in a data frame.
    """

    def __init__(self, words: Iterable[str | Path]) -> None:
        self._runs = list(read_runs(words))

    @property
    def reports(self) -> list[ReportDocument]:
        """The report on each run, as ``report --format json`` writes it."""
        return [run.document for run in self._runs]

    @cached_property
    def runs(self) -> list[RunLine]:
        return self._lines("runs", RunLine)

    @cached_property
    def benchmarks(self) -> list[Struct]:
        return self._lines("benchmarks", BenchmarkLine)

    @cached_property
    def ranks(self) -> list[Struct]:
        return self._lines("ranks", RankLine)

    @cached_property
    def steps(self) -> list[StepLine]:
        return self._lines("steps", StepLine)

    @cached_property
    def rates(self) -> list[RateLine]:
        return self._lines("rates", RateLine)

    @cached_property
    def samples(self) -> list[SampleHead]:
        return self._lines("samples", SampleLine)

    @cached_property
    def host_samples(self) -> list[HostSampleHead]:
        return self._lines("host_samples", HostSampleLine)

    @cached_property
    def events(self) -> list[EventLine]:
        return self._lines("events", EventLine)

    @cached_property
    def findings(self) -> list[FindingLine]:
        return self._lines("findings", FindingLine)

    def _lines(self, name: str, kind: type[Line]) -> list[Line]:
        table = TIDY_TABLES[name]
        assert table.line is kind
        return [cast("Line", line) for run in self._runs for line in table.lines(run)]

    def frame(self, name: str) -> "pandas.DataFrame":
        """A table as a data frame of pandas, with the columns of its records.

        Args:
            name: of the table, such as ``steps``.

        Raises:
            SelectionError: there is no such table, or pandas is not installed.
        """
        table = _table(name)
        try:
            import pandas
        except ImportError as error:
            raise SelectionError(
                "data frames need pandas: pip install 'milabench_ddp[export]'; "
                f"without it, `.{name}` is a list of records"
            ) from error
        rows = [row for run in self._runs for row in table.rows(run)]
        columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
        found = {}
        for column, values in zip(table.columns, columns, strict=True):
            kind = PANDAS[column.kind]
            found[column.name] = pandas.Series(list(map(column.fitting, values)), dtype=kind)
        return pandas.DataFrame(found)


def _table(name: str) -> TidyTable:
    if name not in TIDY_TABLES:
        raise SelectionError(f"no table {name}: {one_of(name, list(TIDY_TABLES))}")
    return TIDY_TABLES[name]
