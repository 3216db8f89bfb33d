"""Which ranks of a job told something, beside those that the plan has.

Programs of ours tell their device when they begin, and the times of their steps at the end: every
rank of them. Of programs that tell neither, or of one rank alone, no rank is missing.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from ..events import Status
from ..grouping import grouped
from .compat import ngpu
from .model import Rows
from .process import ProcessResult

_STOPPED = (Status.RUNNING, Status.CANCELLED, Status.SKIPPED)


class JobRanks(Struct, frozen=True):
    """The ranks of a job in one launch; files of several nodes are one job."""

    name: str  # of the job, for people
    planned: int
    began: set[int]  # those that told their device, or steps
    steps: dict[int, int]  # how many they told, by rank
    is_whole: bool  # whether all of its processes ended ok

    @property
    def silent(self) -> list[int]:
        return self._missing(self.began)

    @property
    def stepless(self) -> list[int]:
        return [rank for rank in self._missing(set(self.steps)) if rank in self.began]

    def _missing(self, known: set[int]) -> list[int]:
        # a single rank may have told what all would say
        if len(known) < min(2, self.planned):
            return []
        return [rank for rank in range(self.planned) if rank not in known]


def jobs_of(processes: Sequence[ProcessResult]) -> Iterator[JobRanks]:
    """The jobs of several ranks that have ended by themselves."""
    jobs = grouped(((str(each.run.path), *each.record.job), each) for each in processes)
    for files in jobs.values():
        if any(process.status in _STOPPED for process in files):
            continue
        records = [process.record for process in files]
        first = records[0]
        planned = max(ngpu(record.config) for record in records)
        if planned < 2 or first.device is not None:
            continue
        ranks = chain.from_iterable(record.ranks.items() for record in records)
        steps = {rank: len(told.ms) for rank, told in ranks if told.ms}
        began = {*steps, *chain.from_iterable(record.devices for record in records)}
        name = ".".join(filter(None, (first.name, first.repeat, *first.job[2:])))
        yield JobRanks(name, planned, began, steps, not any(each.failed for each in files))


def of_how_many(rows: Rows) -> tuple[str, ...]:
    """The note of a table of ranks or steps, which says where it lacks ranks; empty if none is."""
    lacking = []
    for row in rows:
        jobs = list(jobs_of(row.processes))
        planned = sum(job.planned for job in jobs)
        known = sum(len(job.steps) if job.silent or job.stepless else job.planned for job in jobs)
        if known < planned:
            lacking.append(f"{row.name} {known} of {planned}")
    return (f"(of a part of the ranks: {', '.join(lacking)})",) if lacking else ()
