"""The score of a benchmark: the speed of the whole machine in it; what failed counts as 0."""

import math
from collections import defaultdict

from .process import Processes, ProcessResult, is_bandwidth, units_of
from .ranks.rank_summary import rank_id
from .statistics.values import NAN, mean

Place = tuple[str, int, int]  # the node, the job, and the device of a process alone on it


def machine_rate(processes: Processes) -> float:
    """Units per second of all devices together, in which a process that failed counts as 0.

    It is the sum over jobs, or over devices that run a process each, of the mean over launches; NaN
    if nothing was measured, or in several units. Bandwidths do not add up: theirs is the mean over
    jobs.
    """
    failed_jobs = {_job(process) for process in processes if process.failed}
    rates: dict[Place, list[float]] = defaultdict(list)
    for process in processes:
        if not process.record.reports:
            continue
        if _job(process) in failed_jobs:
            rates[_place(process)].append(0.0)
        elif process.series is not None:
            rates[_place(process)].append(process.series.mean)
    if all(process.series is None for process in processes) or len(units_of(processes)) > 1:
        return NAN
    of_jobs = [mean(found) for found in rates.values()]
    return mean(of_jobs) if is_bandwidth(processes) else math.fsum(of_jobs)


def _place(process: ProcessResult) -> Place:
    id = rank_id(process.record, 0)
    if process.record.device is None:  # the processes of a job on several nodes are one
        return "", id.job, 0
    return id.node, 0, id.rank


def _job(process: ProcessResult) -> tuple[object, ...]:
    return *process.launch, *_place(process)
