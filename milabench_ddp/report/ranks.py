"""What each rank of a benchmark measured, or each device where it runs alone, over all launches.

The local time of a rank are the parts of its step that no other rank can make longer. Ranks that
train together wait for each other, so their step times are equal, whichever is slow. The wait lies
where they communicate: under DDP the gradients are averaged during the backward pass, so its end is
that of the slowest rank, on every rank. What comes before it is local: the wait for data, the
forward pass, and the optimizer. There the slow rank takes longer, and shows. (DDP sends buffers
from rank 0 before a forward pass, where the model has any, which is a wait too, but only for what
rank 0 was late with since the end of the backward pass.)

Sharded and tensor parallel models also communicate in the forward pass: of them only the wait for
data and the optimizer are local. The ranks of a pipeline do different work, and are not compared.
A process alone on its device waits for no other: all of its step is local.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..results.records import Rank, Record, is_finite
from .statistics import NAN, largest, mean, percentile

if TYPE_CHECKING:
    from .statistics import Floats

LOCAL = frozenset({"data", "optimizer"})
LOCAL_PARTS: Mapping[str, frozenset[str]] = {  # by the mode of training
    "ddp": LOCAL | {"forward"},
    "fsdp": LOCAL,
    "hsdp": LOCAL,
    "tp": LOCAL,
    "tp-fsdp": LOCAL,
    "pipeline": frozenset(),
    "pdp": frozenset(),
}
PartTimes = Mapping[str, tuple[float, float]]  # mean and deviation in ms, by part of the step


@dataclass(frozen=True, order=True)
class RankId:
    """A rank of a job, or the device of a process that is alone on it."""

    node: str  # empty where all is on one node
    job: int
    rank: int  # of the job; of a process alone on a device, the device
    name: str  # what a person calls it

    @property
    def label(self) -> str:
        """The name, with the node."""
        return f"{self.name} ({self.node})" if self.node else self.name


@dataclass(frozen=True)
class RankLaunch:
    """A rank in one launch of its benchmark."""

    record: Record  # of its process
    rank: Rank
    unsteady: int  # steps before the steady state


@dataclass(frozen=True)
class RankSummary:
    """A rank or device: its steps, those before the steady state left out; times in ms."""

    id: RankId
    steps: int
    median: float  # of a step
    p95: float  # 95 of 100 steps take no longer
    waited: float  # for data in a step, mean
    shares: Mapping[str, float]  # of the steps, by part
    part_ms: PartTimes
    local: Mapping[str, float]  # its local time in a step, by part; empty: not known
    local_error: float  # standard error of their sum
    allocated: float  # MiB, the most
    reserved: float

    @property
    def local_ms(self) -> float:
        """Its local time in a step; NaN where it is not known."""
        return math.fsum(self.local.values()) if self.local else NAN

    def times_ms(self) -> dict[str, float]:
        """Its times in ms, to 0.1 us, as they were written; the keys are those of the JSON."""
        return {
            "step_ms": round(self.median, 4),
            "step_ms_p95": round(self.p95, 4),
            "wait_ms": round(self.waited, 4),
            "own_ms": round(self.local_ms, 4),
        }


def rank_id(record: Record, rank: int) -> RankId:
    """The identity of a rank of a process."""
    not_a_place = "nolog", record.repeat
    place = [word for word in record.words if word not in not_a_place]
    first, node = [*place, "", ""][:2]  # device or job, and the node of a device
    device = record.device
    if device is not None:
        return RankId(node, 0, _number(device), f"device {device}")
    job = _number(first)
    name = f"rank {rank}"
    plan = record.config.get("plan")
    if isinstance(plan, dict) and plan.get("n") not in (None, 1):
        name = f"job {job} {name}"
    return RankId(_node(record, rank), job, rank, name)


def _number(index: object) -> int:
    text = str(index)
    return int(text) if text.isdecimal() else 0


def _node(record: Record, rank: int) -> str:
    """As the rank itself says; else by torchrun, which numbers each node's ranks in a row."""
    known = record.ranks.get(rank)
    if known is not None and known.node:
        return known.node
    machines, devices = record.config.get("num_machines"), record.config.get("devices")
    if is_finite(machines) and machines >= 2 and isinstance(devices, list) and devices:
        return f"node {rank // len(devices)}"
    return ""


def summarize_ranks(processes: Iterable[tuple[Record, int]]) -> tuple[RankSummary, ...]:
    """The ranks or devices of a benchmark, in the order of jobs, ranks and nodes.

    Args:
        processes: what each reported, and how many of its steps came before its steady state,
            which all its ranks reach together.
    """
    launches: dict[RankId, list[RankLaunch]] = defaultdict(list)
    for record, unsteady in processes:
        for number, rank in record.ranks.items():
            id = rank_id(record, number)
            launches[id].append(RankLaunch(record, rank, unsteady))
    ids = sorted(launches, key=lambda id: (id.job, id.rank, id.node))
    return tuple(_summarize(id, launches[id]) for id in ids)


def _summarize(id: RankId, launches: Sequence[RankLaunch]) -> RankSummary:
    ranks = [launch.rank for launch in launches]
    times = _steady_steps(launches)
    steps = sum(len(rank.ms) for rank in ranks)
    waited = math.fsum(rank.waited for rank in ranks)
    part_ms = _mean_parts(ranks)
    local, local_error = _local(launches[-1].record, part_ms, times, steps)
    return RankSummary(
        id,
        len(times),
        percentile(times, 0.5),
        percentile(times, 0.95),
        waited / steps if steps else NAN,
        _mean_shares(ranks),
        part_ms,
        local,
        local_error,
        largest(rank.allocated for rank in ranks),
        largest(rank.reserved for rank in ranks),
    )


def _steady_steps(launches: Sequence[RankLaunch]) -> "Floats":
    """The steps of the steady state, sorted."""
    import numpy as np

    parts: list[Floats] = []
    for launch in launches:
        times = np.asarray(launch.rank.ms, dtype=np.float64)
        if launch.unsteady < len(times):
            times = times[launch.unsteady :]
        parts.append(times)
    if len(parts) == 1:
        return np.sort(parts[0])
    return np.sort(np.concatenate(parts))


def _local(
    record: Record, part_ms: PartTimes, times: "Floats", steps: int
) -> tuple[Mapping[str, float], float]:
    """The local time of a rank by its parts, and the standard error of the sum."""
    root = math.sqrt(max(steps, 1))
    if record.device is not None:
        error = float(times.std()) / root if steps else NAN
        return _local_alone(part_ms, percentile(times, 0.5)), error
    names = local_parts(record.reported("model").get("mode"), part_ms)
    local = {}
    squares = []
    for name in names:
        local[name], deviation = part_ms[name]
        squares.append(deviation**2)
    return local, math.sqrt(math.fsum(squares)) / root


def _local_alone(part_ms: PartTimes, step: float) -> Mapping[str, float]:
    """The whole median step, divided as the mean one is: a pause is no rank's work."""
    whole = math.fsum(mean for mean, _ in part_ms.values())
    if not whole > 0:
        return {} if math.isnan(step) else {"step": step}
    scale = 1.0 if math.isnan(step) else step / whole
    return {name: scale * mean for name, (mean, _) in part_ms.items()}


def local_parts(mode: object, measured: Iterable[str]) -> tuple[str, ...]:
    """The parts, among those that were measured, that are local in a mode of training."""
    local = LOCAL_PARTS.get(str(mode), frozenset())
    return tuple(name for name in measured if name in local)


def _mean_parts(ranks: Sequence[Rank]) -> PartTimes:
    """The mean over launches of each part's mean and deviation."""
    if len(ranks) == 1:
        return ranks[0].part_ms
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for rank in ranks:
        for name, pair in rank.part_ms.items():
            pairs[name].append(pair)
    means = {}
    for name, found in pairs.items():
        times, deviations = zip(*found, strict=True)
        means[name] = mean(times), mean(deviations)
    return means


def _mean_shares(ranks: Sequence[Rank]) -> Mapping[str, float]:
    """The mean over launches of each part's share; where a launch has no such part, 0."""
    if len(ranks) == 1:
        return ranks[0].shares
    known = [rank.shares for rank in ranks if rank.shares]
    names: dict[str, None] = {}
    for shares in known:
        names |= dict.fromkeys(shares)
    means = {}
    for name in names:
        means[name] = mean(shares.get(name, 0.0) for shares in known)
    return means
