"""The values of a benchmark's summary by milabench's formulas, which are in ``compat``."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MilabenchStatistics:
    """milabench's statistics of a list; its fields are keys of the JSON."""

    min: float
    q1: float
    median: float
    q3: float
    max: float
    mean: float
    std: float
    sem: float


@dataclass(frozen=True)
class MilabenchSummary:
    """milabench's summary of the files of a benchmark; its fields are keys of the JSON."""

    n: int
    ngpu: int
    successes: int
    failures: int
    train_rate: MilabenchStatistics
    walltime: MilabenchStatistics
    per_gpu: Mapping[object, MilabenchStatistics]  # rates, by device
    gpu_load: Mapping[str, Mapping[str, MilabenchStatistics]]  # by device; memory, load, power
