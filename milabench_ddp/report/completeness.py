"""Which ranks of a job told something, beside those that the plan has.

Programs of ours tell their device when they begin, and the times of their steps at the end: every
rank of them. Of programs that tell neither, or of one rank alone, no rank is missing.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from ..events import Status
from .compat import ngpu
from .grouping import grouped
from .model import Rows
from .process import ProcessResult

_STOPPED = (Status.RUNNING, Status.CANCELLED, Status.SKIPPED)


class JobRanks(Struct):
    """The ranks of a job in one launch; files of several nodes are one job."""

    name: str  # of the job, for people
    planned: int = 0
    began: set[int] = field(default_factory=set)  # those that told their device, or steps
    steps: dict[int, int] = field(default_factory=dict)  # how many they told, by rank
    is_whole: bool = True  # whether all of its processes ended ok

    @property
    def silent(self) -> list[int]:
        return self._missing(self.began)

    @property
    def stepless(self) -> list[int]:
        return [rank for rank in self._missing(set(self.steps)) if rank in self.began]

    @property
    def lacks_ranks(self) -> bool:
        return bool(self.silent or self.stepless)

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
        first = files[0].record
        words = (first.name, first.repeat, *first.job[2:])
        made = JobRanks(".".join(filter(None, words)))
        for process in files:
            record = process.record
            made.is_whole &= not process.failed
            made.planned = max(made.planned, ngpu(record.config))
            made.steps |= {rank: len(told.ms) for rank, told in record.ranks.items() if told.ms}
            made.began |= {*record.devices, *made.steps}
        if made.planned > 1 and first.device is None:
            yield made


def of_how_many(rows: Rows) -> tuple[str, ...]:
    """The note of a table of ranks or steps, which says where it lacks ranks; empty if none is."""
    lacking = []
    for row in rows:
        jobs = list(jobs_of(row.processes))
        planned = sum(job.planned for job in jobs)
        known = sum(len(job.steps) if job.lacks_ranks else job.planned for job in jobs)
        if known < planned:
            lacking.append(f"{row.name} {known} of {planned}")
    return (f"(of a part of the ranks: {', '.join(lacking)})",) if lacking else ()
