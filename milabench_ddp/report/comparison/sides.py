"""The runs of one side of a comparison: a name on the command line, the runs, their rows."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ...config.schema import SkipKind, SkippedBenchmark
from ...errors import RunDirError
from ...results.find_run import run_folders
from ...results.records import Run
from ..assemble import read_runs, report_on
from ..model import Report, Row
from ..pooling import check_poolable, differences_of
from ..process import Processes, by_launch, until
from ..statistics.interval import Launches, Series
from .comparison_model import ComparedSide, SideRate, Unit

ON_PURPOSE = (SkipKind.DISABLED, SkipKind.LEFT_OUT)


def words_of(given: str) -> list[str]:
    """The words of ``a,b``; a folder may have a comma in its name."""
    words = [word for word in given.split(",") if word.strip()]
    return [given] if words and Path(given).exists() else words


class Side(Struct, frozen=True, dict=True):
    """One side of a comparison, or a history."""

    given: str
    runs: Sequence[Run]

    @classmethod
    def read(cls, *given: str, pool: bool = False) -> "Side":
        """Read the runs by names on the command line.

        Raises:
            PoolingError: the runs differ, and ``pool`` is false; or one is a copy of another.
            RunDirError: there is no such run.
        """
        words = [word for argument in given for word in words_of(argument)]
        runs = read_runs(run_folders(words))
        if not runs:
            raise RunDirError(f"{' '.join(given)!r} names no run")
        if not pool:
            check_poolable(differences_of(runs))
        return cls(" ".join(given), runs)

    @cached_property
    def report(self) -> Report:
        return report_on(self.runs)

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        return {row.name: row for row in self.report.rows}

    @cached_property
    def skipped(self) -> Mapping[str, SkippedBenchmark]:
        return {skipped.name: skipped for run in self.runs for skipped in run.skipped}

    def launches(self, name: str, unit: Unit) -> dict[str, list[Series]]:
        """The rates of a benchmark as its row has them, by launch of its run, or by run.

        It is empty without a rate, and where every launch failed.
        """
        row = self.rows.get(name)
        if row is None or not row.perf > 0 or all(map(_failed, by_launch(row.processes))):
            return {}
        found: dict[str, list[Series]] = {}
        for launch in by_launch(row.counted):
            run, repeat = launch[0].launch
            if series := [each.series for each in launch if each.series is not None]:
                found.setdefault(run if unit is Unit.RUN else repeat, []).extend(series)
        return found

    def took_turns_with(self, other: "Side") -> bool:
        """Whether each side is one of two runs whose launches took turns."""
        runs = (*self.runs, *other.runs)
        names = sorted(run.name for run in runs)
        return all(run.state and sorted(run.state.header.sides) == names for run in runs)

    def failed_launches(self, name: str) -> tuple[int, int]:
        launches = by_launch(self.rows[name].processes)
        return sum(map(_failed, launches)), len(launches)

    def rate(self, name: str) -> SideRate | None:
        row = self.rows.get(name)
        if row is None:
            return None
        return SideRate(row.perf, row.uncertainty, row.launches, max(row.n, row.fail), row.fail)

    def why_no_rate(self, name: str) -> str:
        for failure in self.report.failures:
            if failure.benchmark == name:
                return ": ".join(filter(None, (failure.outcome, failure.reason)))
        if name in self.rows:
            return self.rows[name].why_no_rate or "no rate"
        if name in self.skipped:
            return f"skipped: {self.skipped[name].reason}"
        return f"not in {self.given}"

    def left_out_on_purpose(self, name: str) -> bool:
        """Whether someone decided that a benchmark does not run."""
        return name in self.skipped and self.skipped[name].kind in ON_PURPOSE

    def until(self, name: str) -> float:
        """The half width at which ``run --until`` ended its launches, as a fraction; else 0."""
        return until(self.rows[name].processes)

    def alike(self, name: str, unit: Unit) -> list[Launches]:
        """The launches of a benchmark, by runs that differ in nothing that they recorded."""
        found = [list(group.launches(name, unit).values()) for group in self._groups]
        return [launches for launches in found if launches]

    @cached_property
    def _groups(self) -> list["Side"]:
        groups: list[list[Run]] = []
        for run in self.runs:
            same = (group for group in groups if not differences_of([group[0], run]))
            group = next(same, None)
            if group is None:
                groups.append([run])
            else:
                group.append(run)
        return [Side(self.given, group) for group in groups]

    def without(self, *sides: "Side") -> "Side":
        theirs = {run.path.resolve() for side in sides for run in side.runs}
        return Side(self.given, [run for run in self.runs if run.path.resolve() not in theirs])

    @property
    def described(self) -> ComparedSide:
        counts = [row.launches for row in self.rows.values() if row.launches]
        info = self.report.runs[0]
        machine = ", ".join(filter(None, (info.devices or info.cpu, info.host, info.version)))
        folders = tuple(run.path for run in self.runs)
        return ComparedSide(
            self.given, folders, (min(counts, default=0), max(counts, default=0)), machine
        )


def _failed(launch: Processes) -> bool:
    return any(process.failed for process in launch)
