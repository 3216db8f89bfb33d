"""The measurements of each rank of a benchmark, or of each device, over all launches.

Local time is the time of the parts of a step that no other rank can make longer. Ranks that train
together wait for each other, so their step times are equal even if only one of them is slow. They
wait where they communicate: DDP averages the gradients during the backward pass, so this pass ends
on every rank when the slowest rank is done. The other parts are local: the wait for data, the
forward pass, and the optimizer. A slow rank takes longer in these, and there it can be found. (If
the model has buffers, DDP sends them from rank 0 before a forward pass. That is a wait too, but
only for the delay of rank 0 since the end of the backward pass.)

Sharded and tensor parallel models communicate in the forward pass too, so only the wait for data
and the optimizer are local. The ranks of a pipeline do different work and are not compared. A
process alone on its device waits for no other process: its whole step is local.
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

    node: str  # empty if all ranks are on one node
    job: int
    rank: int  # of the job; for a process alone on a device, the index of the device
    name: str  # for people, such as ``rank 3``

    @property
    def label(self) -> str:
        """The name with the node, if there are several nodes."""
        return f"{self.name} ({self.node})" if self.node else self.name


@dataclass(frozen=True)
class RankLaunch:
    """A rank in one launch of its benchmark."""

    record: Record  # of its process
    rank: Rank
    unsteady: int  # steps before the steady state


@dataclass(frozen=True)
class RankSummary:
    """A rank or device over all launches, without steps before the steady state; times in ms."""

    id: RankId
    steps: int
    median: float  # of a step
    p95: float  # 95 of 100 steps take no longer
    waited: float  # the mean wait for data in a step
    shares: Mapping[str, float]  # of the step, by part
    part_ms: PartTimes
    local: Mapping[str, float]  # the local time in a step, by part; empty if not known
    local_error: float  # the standard error of the sum of ``local``
    allocated: float  # MiB, the most
    reserved: float

    @property
    def local_ms(self) -> float:
        """The local time in a step, in ms; NaN if it is not known."""
        return math.fsum(self.local.values()) if self.local else NAN

    def times_ms(self) -> dict[str, float]:
        """The times in ms, to 0.1 us as the programs write them; the keys are those of the JSON."""
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
    """The node that the rank reported, else by torchrun's order: each node's ranks are in a row."""
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
        processes: the record of each, and how many of its steps came before its steady state, which
            all of its ranks reach together.
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
    """The local time of a rank in ms, by part, and the standard error of the sum."""
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
    """The median step in ms, divided into parts in the same ratio as the mean step.

    The mean step itself would count a pause of the machine as the rank's own work.
    """
    whole = math.fsum(mean for mean, _ in part_ms.values())
    if not whole > 0:
        return {} if math.isnan(step) else {"step": step}
    scale = 1.0 if math.isnan(step) else step / whole
    return {name: scale * mean for name, (mean, _) in part_ms.items()}


def local_parts(mode: object, measured: Iterable[str]) -> tuple[str, ...]:
    """The measured parts that are local in a mode of training."""
    local = LOCAL_PARTS.get(str(mode), frozenset())
    return tuple(name for name in measured if name in local)


def _mean_parts(ranks: Sequence[Rank]) -> PartTimes:
    """Each part's mean and deviation in ms, averaged over launches."""
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
    """Each part's share, averaged over launches; a launch without this part counts as 0."""
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
