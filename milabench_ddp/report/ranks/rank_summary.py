"""The measurements of each rank of a benchmark, or of each device, over all launches.

The ``rank_launch`` module says what local time is.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, starmap

from msgspec import Struct
from msgspec.structs import replace

from ...grouping import grouped
from ...hostlist import natural, spans
from ...numerics import np
from ...results.records import Record, machines_of
from ..statistics.values import NAN, largest, mean, median, percentile
from .pipelines import Stages, pipelines_of
from .rank_launch import WHOLE, LaunchBlocks, PartTimes, RankLaunch, local_parts, steady_launch

UnsteadyOf = Callable[[int], int]  # how many of so many steps come before the steady state


class RankId(Struct, frozen=True, order=True):
    """A rank of a job, or the device of a process that is alone on it."""

    node: str  # empty if all ranks are on one node
    job: int
    rank: int  # of the job; for a process alone on a device, the index of the device
    name: str  # for people, such as ``rank 3``

    @property
    def label(self) -> str:
        return f"{self.name} ({self.node})" if self.node else self.name

    @property
    def kind(self) -> str:
        return self.name.rpartition(" ")[0]


class RankSummary(Struct, frozen=True):
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
    # the level of the local time and of its parts in each block of steady steps, by launch; empty
    # if the local time of each step is not known
    blocks: LaunchBlocks = {}
    std: float = NAN  # of a step: the sample's standard deviation; NaN for a single step
    stages: Stages = ()  # of a pipeline

    @property
    def local_ms(self) -> float:
        return math.fsum(self.local.values()) if self.local else NAN


def rank_id(record: Record, rank: int) -> RankId:
    first, node = record.place
    if record.device is not None:
        return device_id(node, record.device)
    job = _number(first)
    name = f"rank {rank}"
    plan = record.config.get("plan")
    if isinstance(plan, dict) and plan.get("n") not in (None, 1):
        name = f"job {job} {name}"
    return RankId(node if record.is_of_each_node else _node(record, rank), job, rank, name)


def device_id(node: str, device: object) -> RankId:
    return RankId(node, 0, _number(device), f"device {device}")


def _number(index: object) -> int:
    text = str(index)
    return int(text) if text.isdecimal() else 0


def _node(record: Record, rank: int) -> str:
    known = record.ranks.get(rank)
    if known is not None and known.node:
        return known.node
    if record.indices and machines_of(record.config) > 1:
        return f"node {rank // len(record.indices)}"
    return ""


def labels(ids: Iterable[RankId]) -> str:
    """Ranks or devices as people write them: ``ranks 0-3, 7 (node-2)``; without any, empty."""
    found = []
    ordered = sorted(ids, key=lambda id: (natural(id.node), id.kind, id.rank))
    for (node, kind), numbers in grouped(((id.node, id.kind), id.rank) for id in ordered).items():
        where = f" ({node})" if node else ""
        found.append(f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(spans(numbers))}{where}")
    return ", ".join(found)


def summarize_ranks(processes: Iterable[tuple[Record, UnsteadyOf]]) -> tuple[RankSummary, ...]:
    """The ranks or devices of a benchmark, in the order of jobs, ranks and nodes.

    Args:
        processes: the record of each, and how many of its steps come before its steady state, which
            all of its ranks reach together.
    """
    launches = grouped(chain.from_iterable(starmap(rank_launches, processes)))
    ids = sorted(launches, key=lambda id: (id.job, id.rank, natural(id.node)))
    return tuple(_summarize(id, launches[id]) for id in ids)


def rank_launches(record: Record, unsteady_of: UnsteadyOf) -> list[tuple[RankId, RankLaunch]]:
    """The ranks of a process, in their order."""
    found = []
    for number, rank in sorted(record.ranks.items()):
        launch = steady_launch(record, rank, unsteady_of(len(rank.ms)))
        found.append((rank_id(record, number), launch))
    return found


def peers(ranks: Iterable[RankSummary]) -> list[list[RankSummary]]:
    """The ranks that do the same work: all, or in pipelines those with the same stages."""
    return list(grouped((rank.stages, rank) for rank in ranks).values())


def _summarize(id: RankId, launches: Sequence[RankLaunch]) -> RankSummary:
    times = np.sort(np.concatenate([launch.ms for launch in launches]))
    part_ms = _mean_parts([launch.part_ms for launch in launches])
    shares = [launch.shares for launch in launches if launch.shares]
    blocks = {launch.key: found for launch in launches if (found := launch.blocks())}
    names = local_parts(launches[-1].record, part_ms)
    local = _by_blocks({name: part_ms[name][0] for name in names}, blocks)
    return RankSummary(
        id,
        len(times),
        percentile(times, 0.5),
        percentile(times, 0.95),
        mean(launch.waited for launch in launches),
        # a launch without a part counts as 0
        {part: mean(each.get(part, 0.0) for each in shares) for part in _names(shares)},
        part_ms,
        local,
        _error(launches),
        largest(launch.rank.allocated for launch in launches),
        largest(launch.rank.reserved for launch in launches),
        blocks,
        float(times.std(ddof=1)) if len(times) > 1 else NAN,
        pipelines_of(launches[-1].record).of_rank(id.rank),
    )


def in_half(rank: RankSummary, half: int) -> RankSummary:
    """The blocks of the first half (0) or the second (1) of each launch, and their local time."""
    blocks = {}
    for key, parts in rank.blocks.items():
        middle = len(parts[WHOLE]) // 2
        span = slice(middle, None) if half else slice(middle)
        blocks[key] = {part: levels[span] for part, levels in parts.items()}
    return replace(rank, blocks=blocks, local=_by_blocks(rank.local, blocks))


def _by_blocks(local: Mapping[str, float], blocks: LaunchBlocks) -> Mapping[str, float]:
    """The local time of a rank in ms, by part.

    Its sum and its parts are medians over the blocks, where steps are known: a mean would count a
    pause of the machine as the rank's own work.

    Args:
        local: the mean of each part.
        blocks: the levels of the rank.
    """
    levels = {}
    for part in _names(blocks.values()):
        levels[part] = median(chain.from_iterable(of.get(part, ()) for of in blocks.values()))
    level = levels.pop(WHOLE, NAN)
    if math.isnan(level):
        return local
    local = {**local, **levels}
    whole = math.fsum(local.values())
    if not whole > 0:
        return {"step": level}
    return {name: level / whole * ms for name, ms in local.items()}


def _error(launches: Sequence[RankLaunch]) -> float:
    """The standard error of the local time, as if its steps were independent; NaN if unknown."""
    own = [found for launch in launches if (found := launch.own()) is not None]
    if not own:
        return NAN
    whole = np.concatenate([work + data for work, data in own])
    return float(whole.std()) / math.sqrt(len(whole))


def _mean_parts(launches: Sequence[PartTimes]) -> PartTimes:
    means = {}
    for part in _names(launches):
        found = [part_ms[part] for part_ms in launches if part in part_ms]
        means[part] = mean(ms for ms, _ in found), mean(std for _, std in found)
    return means


def _names(launches: Iterable[Mapping[str, object]]) -> Iterable[str]:
    return dict.fromkeys(chain.from_iterable(launches))
