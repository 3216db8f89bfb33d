"""The records that the readers in this folder make from the result files of a run."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct, field

from ..config.schema import VALIDATE, SkippedBenchmark, is_of_each_node, recorded_jobs
from ..errors import shortened
from ..events import Status, Verdict
from ..grouping import grouped
from ..hazards import PLANT
from ..samples import DeviceProblem, DeviceSample, HostSample
from .columns import MetricColumn, NumberColumn, Scratch
from .defects import DefectKind, FileDefect
from .rank import Rank
from .rate_columns import Rates
from .rates import RateCounts, why_nothing_measured
from .rates import is_finite as is_finite
from .state import BenchmarkState, RunState

Payload = Mapping[str, Any]
"""A JSON object as a program or milabench wrote it; its keys and types are not checked."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether milabench treats a value as a number; NaN and infinity count."""
    # an int that cannot be a float, with 400 digits say, is not a number here
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1000)


def mapping_or_empty(value: object) -> Payload:
    return value if isinstance(value, Mapping) else {}


def recorded_weight(config: Payload) -> float:
    weight = config.get("weight", 0)
    return float(weight) if is_number(weight) else 0.0


def machines_of(config: Payload) -> int:
    """How many nodes a recorded configuration has; 1 if it does not say."""
    machines = config.get("num_machines")
    return int(machines) if is_finite(machines) else 1


def error_text(told: Payload) -> str:
    """What a program told of an error: its type, and its message, as far as it told them."""
    return ": ".join(str(told[key]) for key in ("type", "message") if told.get(key))


def validates(config: Payload) -> bool:
    """Whether nodes are judged by the benchmark of a recorded configuration."""
    tags = config.get("tags")
    return isinstance(tags, list) and VALIDATE in tags


FACTS = ("model", "shares", "correctness")
"""The keys of payloads that a program reports once, about itself."""
TABLES = ("comm", "comm_fit", "sweep", "bandwidth", "pair", "bits", "planted")
"""The keys of payloads that it reports for one size or shape after another, a table row each."""


_DEVICE = re.compile(r"D\d+")


class Record(Struct):
    """The contents of a `.data` file: one process and, under torchrun, its ranks."""

    path: Path
    config: Payload = {}
    meta: Payload = {}
    start: Payload | None = None
    end: Payload | None = None
    stopped: bool = False  # it sent `stop`: it had enough observations
    rates: Rates = field(default_factory=Rates)
    told: RateCounts = field(default_factory=RateCounts)  # what it told of its rate, counted
    units: str = ""
    compute_dtype: str = ""  # the type of its matrix products, ``bf16`` say; empty if not told
    losses: NumberColumn = field(default_factory=NumberColumn)
    samples: dict[str, list[DeviceSample]] = {}  # by the device's index
    host: list[HostSample] = []  # of its node
    device_problems: list[DeviceProblem] = []
    ranks: dict[int, Rank] = {}  # those that were reported
    devices: dict[int, Payload] = {}  # as its ranks told them, by rank
    facts: dict[str, dict[str, Any]] = {}  # by FACTS; those of rank 0
    # every number of the metric lines, by name and rank, but rates and what only counts or dates
    numbers: dict[str, dict[int, MetricColumn]] = {}
    # numbers of the metric lines that are infinite or NaN, by name: how often each was told
    not_finite: dict[str, Counter[str]] = {}
    tables: dict[str, list[Payload]] = {}  # by TABLES
    errors: list[Payload] = []
    defects: list[FileDefect] = []

    @property
    def tag(self) -> str:
        return self.path.name.removesuffix(".data")

    @property
    def name(self) -> str:
        return str(self.config.get("name"))

    @property
    def device(self) -> object:
        return self.config.get("device")

    @property
    def words(self) -> list[str]:
        tags = self.config.get("tag")
        return [str(tag) for tag in tags[1:]] if isinstance(tags, list) else []

    @property
    def place(self) -> tuple[str, str]:
        """Its device, or the number of its job, and its node; empty where it is on no other."""
        places = [word for word in self.words if word not in ("nolog", self.repeat)]
        if len(places) > 1 and places[0].isdecimal() and _DEVICE.fullmatch(places[1]):
            del places[1]  # a task of Slurm has its device between the two
        first, second, *_ = *places, "", ""
        return first, second

    @property
    def node(self) -> str:
        return str(self.meta.get("node") or self.place[1])

    @property
    def accelerators(self) -> Payload:
        return mapping_or_empty(self.meta.get("accelerators"))

    @property
    def gpus(self) -> Mapping[str, Payload]:
        """What its node told of its GPUs, by their indices."""
        told = mapping_or_empty(self.accelerators.get("gpus"))
        return {index: mapping_or_empty(gpu) for index, gpu in told.items()}

    def gpu(self, index: object) -> Payload:
        return self.gpus.get(str(index), {})

    @property
    def indices(self) -> list[object]:
        """The devices that it may use of each node, by their indices; empty if it did not say."""
        told = self.config.get("devices")
        return told if isinstance(told, list) else []

    @property
    def repeat(self) -> str:
        """The repeat of the benchmark, such as ``R0``; empty if the benchmark ran once."""
        for place, word in enumerate(self.words):
            is_node = place > 0 and word == self.meta.get("node")
            if word[:1] == "R" and word[1:].isdigit() and not is_node:
                return word
        return ""

    @property
    def planned_jobs(self) -> int:
        """How many jobs of many ranks its launch has; 0 if it is alone on its device."""
        jobs = recorded_jobs(self.config.get("plan"))
        return jobs * machines_of(self.config) if self.is_of_each_node else jobs

    @property
    def is_of_each_node(self) -> bool:
        return is_of_each_node(self.config.get("plan"))

    @property
    def job(self) -> tuple[str, ...]:
        """What the files of one job share: the benchmark, the repeat, its number, or its node.

        A process alone on its device shares it with no other.
        """
        if not self.planned_jobs:
            return (self.tag,)
        if self.is_of_each_node:
            return self.name, self.repeat, *filter(None, self.place)
        words = self.tag.removeprefix(f"{self.name}.").split(".")
        return self.name, self.repeat, *[word for word in words if word != self.repeat][:1]

    @property
    def own_rank(self) -> int | None:
        env = self.start.get("env") if self.start else None
        rank = env.get("RANK") if isinstance(env, dict) else None
        return int(rank) if isinstance(rank, str) and rank.isdecimal() else None

    @property
    def reports(self) -> bool:
        return "nolog" not in self.words

    def reported(self, group: str) -> Payload:
        return self.facts.get(group, {})

    @property
    def seconds(self) -> float | None:
        """How long the process ran, in seconds; None if the file does not say."""
        if not self.start or not self.end:
            return None
        start, end = self.start.get("time"), self.end.get("time")
        return float(end - start) if is_finite(start) and is_finite(end) else None

    @property
    def faults(self) -> list[str]:
        """Those that are planted in it on purpose, by its lines or its variables."""
        told = [payload.get("fault") for payload in self.tables.get("planted", ())]
        told.append(mapping_or_empty(self.config.get("env")).get(PLANT))
        return list(dict.fromkeys(str(fault) for fault in told if fault))

    def move_to(self, scratch: Scratch) -> None:
        """Keep the numbers in a file where they are many.

        Raises:
            OSError: the file cannot be written; the numbers are still in memory.
        """
        columns = [self.losses, *self.rates.columns.values()]
        for by_rank in self.numbers.values():
            for metric in by_rank.values():
                columns += [metric.numbers, metric.seen]
        for column in columns:
            column.move_to(scratch)

    def has(self, *kinds: DefectKind) -> bool:
        return any(defect.kind in kinds for defect in self.defects)


def unit_of(records: Iterable[Record]) -> str:
    for record in records:
        if record.units:
            return shortened(record.units, 60)
    return ""


class Run(Struct, frozen=True, dict=True):
    """The contents of a run folder."""

    path: Path
    state: RunState | None  # None if there is no run.json, as in milabench's own runs
    records: tuple[Record, ...]  # the files that count, by their names
    defects: tuple[FileDefect, ...]  # of all files, also of those that do not count

    @property
    def name(self) -> str:
        return (self.state and self.state.header.name) or self.path.name

    @property
    def skipped(self) -> list[SkippedBenchmark]:
        if self.state is None:
            return []
        found = list(self.state.header.skipped)
        for name, benchmark in self.state.benchmarks.items():
            if benchmark.status is Status.SKIPPED:
                found.append(SkippedBenchmark(name, benchmark.reason))
        return found

    @cached_property
    def jobs(self) -> Mapping[tuple[str, ...], Sequence[Record]]:
        return grouped((record.job, record) for record in self.records)

    @cached_property
    def unmeasured(self) -> Mapping[tuple[str, ...], str]:
        """Why no rate can be made of what the processes of each job told; empty if one can."""
        jobs = self.jobs.items()
        return {job: why_nothing_measured(each.told for each in those) for job, those in jobs}

    @cached_property
    def missing(self) -> Mapping[str, Sequence[str]]:
        known = {record.tag for record in self.records}
        return grouped(
            (name, process.tag)
            for name, benchmark in (self.state.benchmarks.items() if self.state else ())
            for launch in benchmark.launches
            for process in launch.processes
            if process.tag not in known
        )

    def in_status(self, status: Status) -> tuple[str, ...]:
        benchmarks = self.state.benchmarks.items() if self.state else ()
        return tuple(name for name, benchmark in benchmarks if benchmark.status is status)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        benchmarks = self.state.benchmarks if self.state else {}
        return {name: each.verdict for name, each in benchmarks.items() if each.status.has_ended}

    def benchmark(self, name: str) -> BenchmarkState | None:
        return self.state.benchmarks.get(name) if self.state else None

    @property
    def meta(self) -> Payload:
        """What the first node that told something told of itself."""
        return next((record.meta for record in self.records if record.meta), {})

    @property
    def goes_on(self) -> bool:
        return self.state is not None and self.state.header.outcome is None
