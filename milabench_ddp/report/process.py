"""One process of a benchmark: how it ended, and what it measured in its steady state.

Observations that the program marked as warm-up are left out, and then those before the steady state
(see ``steady``).
"""

import math
from array import array
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from ..events import NAN_LOSS, Outcome, Status, Verdict, exit_reason
from ..grouping import grouped
from ..results.rate_columns import joined
from ..results.records import Payload, Record, Run, unit_of
from .ranks.rank_launch import LaunchKey
from .ranks.rank_summary import RankId, rank_id
from .statistics.durations import Weighed, between, sum_of_ranks, weighed
from .statistics.interval import Series
from .statistics.steady import Steady, steady_state
from .statistics.values import NAN
from .statistics.window import Window, window_of

BANDWIDTH = "GB/s"


class ProcessResult(Struct, frozen=True, dict=True):
    """A process of a benchmark: the run that it belongs to, and its file."""

    run: Run
    record: Record

    @cached_property
    def verdict(self) -> Verdict | None:
        """How the process ended, as recorded or as its file shows; None while it runs."""
        end = self.record.end
        if end is None:
            return _without_end(self.record, self.run)
        verdict = _at_the_end(self.record, end)
        if verdict.is_ok and self.unmeasured and self.record.reports:
            return Verdict(Outcome.FAILED, self.unmeasured)
        return verdict

    @property
    def unmeasured(self) -> str:
        return self.run.unmeasured[self.record.job]

    @property
    def status(self) -> Status:
        return Status(self.verdict.outcome) if self.verdict else Status.RUNNING

    @property
    def failed(self) -> bool:
        return self.status not in (Status.RUNNING, Status.OK, Status.SKIPPED)

    @property
    def measured(self) -> Weighed:
        """The observations that count, with their durations; of several ranks, their sums.

        They are not kept: those of all processes of a large run would fill the memory.
        """
        if self.unmeasured:
            return Weighed.nothing()
        found = grouped(
            of_rank for record in self._summed for of_rank in record.rates.load().by_rank().items()
        )
        ranks = [weighed(joined(found[rank])) for rank in sorted(found)]
        return sum_of_ranks([seen for seen in ranks if len(seen)] or [Weighed.nothing()])

    @cached_property
    def between(self) -> tuple[float, float]:
        """The seconds between its observations that are in none of them, and all seconds."""
        lines = {} if self.unmeasured else self.record.rates.load().by_rank()
        return between(lines[0]) if 0 in lines else (0.0, 0.0)

    @property
    def _summed(self) -> Sequence[Record]:
        telling = (record for record in self.run.jobs[self.record.job] if record.told.usable)
        return [self.record, *telling] if next(telling, None) is self.record else []

    @property
    def steady(self) -> Steady:
        """Where the steady state begins, as an index of ``measured``."""
        return self._found[0]

    @property
    def series(self) -> Series | None:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Steady, Series | None, float]:
        measured = self.measured
        found = steady_state(measured.lines.rate)
        steps = float(measured.lines.steps[: found.start].sum())  # NaN if a line does not tell them
        return found, _series(measured, found), steps

    @property
    def rate(self) -> float:
        """Units per second in its steady state; NaN if it has none."""
        return NAN if self.series is None or self.series.why_no_mean else self.series.mean

    @property
    def observed(self) -> int:
        return self.series.measured if self.series else 0

    @cached_property
    def window(self) -> Window | None:
        return window_of(self.measured, self.steady.start)

    @cached_property
    def steady_over_all(self) -> float:
        whole = _series(self.measured, Steady())
        if self.series is None or whole is None or not whole.mean > 0:
            return 1.0
        return self.series.mean / whole.mean

    def unsteady_of(self, count: int) -> int:
        """How many of a rank's ``count`` timed steps come before the steady state.

        All ranks of a process make each step together. If the program does not say how many steps
        an observation covers, all are taken to cover equally many.
        """
        before = self.steady.start
        if not before:
            return 0
        steps = self._found[2]
        return round(count * before / self.observed) if math.isnan(steps) else int(steps)

    @property
    def warmup_marked(self) -> int:
        return int(self.record.rates.columns["warmup"].values().sum())

    @property
    def is_alone(self) -> bool:
        """Whether it measures by itself: its device, or all of its node."""
        return self.record.device is not None or self.record.is_of_each_node

    @property
    def launch(self) -> LaunchKey:
        return str(self.run.path), self.record.repeat


Processes = Sequence[ProcessResult]


def by_launch(processes: Processes) -> list[Processes]:
    """The processes of each launch, in the order of runs and repeats."""
    launches = grouped((process.launch, process) for process in processes)
    return [launches[key] for key in sorted(launches)]


def ended_ok(launch: Processes) -> bool:
    return all(process.status is Status.OK for process in launch)


def until(processes: Processes) -> float:
    """The half width at which ``run --until`` ended the launches, as a fraction; 0 if it did not.

    Of several runs, each of which ended so by itself, that of their mean.
    """
    runs = {process.run.path: process.run for process in processes}
    found = []
    for run in runs.values():
        state = run.benchmark(processes[0].record.name)
        if state and state.repeats.until is not None and state.repeats.is_reached:
            found.append(state.repeats.until)
    return max(found, default=0.0) / math.sqrt(len(runs))


def series_by_launch(processes: Processes) -> list[list[Series]]:
    """What the processes of each launch measured; without launches that measured nothing."""
    found = []
    for launch in by_launch(processes):
        series = [process.series for process in launch if process.series is not None]
        if series:
            found.append(series)
    return found


def counted(processes: Processes) -> Processes:
    """The processes whose measurements are in the numbers of their benchmark.

    They are those that did not fail. If all failed, the numbers are what these measured before.
    """
    return [process for process in processes if not process.failed] or processes


def units_of(processes: Processes) -> list[str]:
    units = {each.record.units for each in processes if each.series is not None}
    return sorted(units - {""})


def per_launch(processes: Processes) -> float:
    """How many processes of a launch measure something.

    It is the mean over the launches that ended ok, or over all if none did: in a launch of which a
    process failed, fewer devices work than the benchmark uses.
    """
    launches = by_launch(processes)
    whole = list(filter(ended_ok, launches)) or launches
    counts = [len(series) for launch in whole for series in series_by_launch(counted(launch))]
    return sum(counts) / len(counts) if counts else 0.0


def _series(measured: Weighed, found: Steady) -> Series | None:
    if len(measured) <= found.start:
        return None
    rates, seconds = measured.lines.rate[found.start :], measured.seconds[found.start :]
    return Series(array("d", rates.tobytes()), array("d", seconds.tobytes()), found)


def series_of_devices(processes: Processes) -> dict[RankId, list[Series]]:
    alone = [process for process in processes if process.record.device is not None]
    told = [(rank_id(each.record, 0), each.series) for each in alone if each.series is not None]
    return grouped(told)


def records_by_rank(processes: Processes) -> dict[RankId, Record]:
    """The record that each rank or device is of, in its first launch."""
    found: dict[RankId, Record] = {}
    for process in processes:
        record = process.record
        for rank in record.ranks if record.device is None else (0,):
            found.setdefault(rank_id(record, rank), record)
    return found


def is_bandwidth(processes: Processes) -> bool:
    """Whether these processes measured the bandwidth of a link, which does not add up over links.

    So do programs that report ``comm``, and all jobs whose rate is in GB/s. The rates of processes
    alone on a device, of its memory say, add up over devices.
    """
    if any("comm" in process.record.tables for process in processes):
        return True
    jobs = [process.record for process in processes if process.record.device is None]
    return len(jobs) == len(processes) and unit_of(jobs) == BANDWIDTH


def _without_end(record: Record, run: Run) -> Verdict | None:
    state = run.benchmark(record.name)
    if run.goes_on and state and not state.status.has_ended:
        return None
    if state and state.status is Status.FAILED and state.interrupted:
        return state.verdict  # its disk was full, for example
    reason = state.reason if state and state.status is Status.LOST else ""
    return Verdict(Outcome.LOST, reason or "its file has no end: it was cut off")


def _at_the_end(record: Record, end: Payload) -> Verdict:
    """The verdict that is recorded; in milabench's files, the one that they show."""
    recorded, code = end.get("outcome"), end.get("return_code")
    if recorded in tuple(Outcome):
        return Verdict(Outcome(recorded), str(end.get("reason") or ""))
    if record.stopped or not record.reports or (code == 0 and not record.losses.has_nan):
        return Verdict(Outcome.OK, "")
    if code == 0:
        return Verdict(Outcome.FAILED, NAN_LOSS)
    reason = exit_reason(code) if isinstance(code, int) else f"exit status {code}"
    return Verdict(Outcome.FAILED, reason)
