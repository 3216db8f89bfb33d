"""The measured points of a prediction: a benchmark on several numbers of nodes, or of ranks.

Points differ in their nodes alone, with as many ranks on each. Where all of them have a single
node, they may differ in their ranks, and these are counted instead.
"""

from collections.abc import Iterator, Sequence
from os.path import commonprefix

from msgspec import Struct, field

from ...errors import MilabenchError
from ...grouping import grouped
from ...numerics import Floats
from ..model import Row, Rows
from ..process import ProcessResult
from ..ranks.ledger import BEHIND, LaunchTimes, launch_times
from ..ranks.overlap import TimedBucket, buckets_of
from ..statistics.values import NAN, mean, median
from ..sweeps.efficiency import WEAK, alike_but_nodes, scaling

AllReduce = tuple[int, float, float]  # ranks, bytes, ms
BACKWARD = frozenset({"backward", "forward_backward"})
NODES, RANKS = "nodes", "ranks"
PREDICTED = frozenset({"single", "ddp", "fsdp", "hsdp"})  # modes whose ranks all do the same work


class NoPredictionError(MilabenchError):
    """A benchmark cannot be predicted; the message is the reason."""


class LaunchWork(Struct, frozen=True):
    """What a launch did in its steady steps; times in ms."""

    nodes: tuple[str, ...]  # of each rank
    # The own work from one communication to the next: a row for each rank, a column for each step
    before: Floats  # the backward pass
    backward: Floats
    communication: Floats  # exposed, of all ranks: one for each step
    step: float  # its mean
    units: float  # of work in a step
    buckets: tuple[TimedBucket, ...] = ()
    slowdown: float = NAN  # of the backward pass by the communication beside it

    @property
    def ranks(self) -> int:
        return len(self.nodes)

    @property
    def own(self) -> Floats:
        return self.before + self.backward

    @property
    def level(self) -> float:
        return float(self.own.mean())


class Point(Struct, frozen=True):
    """The launches of a benchmark on one number of nodes or ranks."""

    count: int
    launches: tuple[LaunchWork, ...]

    @property
    def step(self) -> float:
        return mean(launch.step for launch in self.launches)


class Points(Struct, frozen=True):
    """A benchmark on several numbers of nodes or ranks, in ascending order."""

    name: str
    axis: str  # NODES or RANKS
    each: int  # ranks that count as one: those of a node, or 1
    mode: str
    unit: str
    points: tuple[Point, ...]
    comm: Sequence[AllReduce] = field(default=())  # see ``measured_all_reduces``

    @property
    def counts(self) -> list[int]:
        return [point.count for point in self.points]

    @property
    def launches(self) -> list[LaunchWork]:
        return [launch for point in self.points for launch in point.launches]

    def ranks(self, count: int) -> int:
        return count * self.each


def points_of(rows: Rows) -> Iterator[Points | tuple[str, str]]:
    """Each benchmark with its points, or its name and the reason why it cannot be predicted.

    Benchmarks whose ranks do not train together are left out.
    """
    usable = [row for row in rows if not row.is_bandwidth and _trains(row)]
    for group, is_sweep in alike_but_nodes(usable):
        begin = commonprefix([row.name for row in group])  # noqa: RUF071 - these are no paths
        name = begin.rstrip("-_.") or group[0].name
        if len(group) > 1 and not is_sweep:
            yield name, "which of its points differ in their nodes alone is not known"
            continue
        try:
            yield _points(name, group, measured_all_reduces(rows))
        except NoPredictionError as error:
            yield name, str(error)


def _trains(row: Row) -> bool:
    records = [process.record for process in row.processes]
    return any(record.ranks and record.device is None for record in records)


def _points(name: str, group: Rows, comm: Sequence[AllReduce]) -> Points:
    if any(scaling(row) != WEAK for row in group):
        raise NoPredictionError("under strong scaling each rank's work changes with the nodes")
    modes = {str(row.reported("model").get("mode") or "") for row in group}
    if "" in modes:
        raise NoPredictionError("it does not tell in which mode it trains")
    mode = " and ".join(sorted(modes))
    if not modes <= PREDICTED:
        raise NoPredictionError(f"not all ranks do the same work in mode {mode}")
    processes = [process for row in group for process in row.counted]
    works = [launch_work(process) for process in processes if process.record.ranks]
    launches = grouped(((len(set(work.nodes)), work.ranks), work) for work in works)
    each = {ranks / nodes for nodes, ranks in launches}
    by_nodes = len({nodes for nodes, _ in launches}) > 1
    if by_nodes and len(each) > 1:
        raise NoPredictionError("its points differ in the ranks of a node, too")
    found = []
    for (nodes, ranks), of_point in sorted(launches.items()):
        found.append(Point(nodes if by_nodes else ranks, tuple(of_point)))
    if len(found) < 2:
        raise NoPredictionError("a prediction needs at least two numbers of nodes, or of ranks")
    axis = NODES if by_nodes else RANKS
    ranks_each = round(max(each)) if by_nodes else 1
    return Points(name, axis, ranks_each, mode, group[0].unit, tuple(found), comm)


def launch_work(process: ProcessResult) -> LaunchWork:
    """What the ranks of a process did.

    Raises:
        NoPredictionError: they do not tell what is exposed of each step.
    """
    record = process.record
    times = launch_times(record, process.unsteady_of, fewest=1)
    if times is None or times.exposed.shape[1] < 2 or process.series is None:
        raise NoPredictionError(f"{record.tag} does not tell what is exposed of each step")
    if process.series.why_no_mean:
        raise NoPredictionError(f"{record.tag}: {process.series.why_no_mean}")
    before, backward = _halves(times)
    if len(times.ids) == 1:  # what it does instead of communication is its own work
        backward = backward + times.exposed[:, 1:]
    step = float(times.whole.mean())
    slowdowns = [rank.overlap_slowdown for rank in record.ranks.values()]
    return LaunchWork(
        tuple(id.node for id in times.ids),
        before,
        backward,
        times.communication[1:] if len(times.ids) > 1 else 0.0 * times.communication[1:],
        step,
        process.series.mean * step / 1e3,
        buckets_of([rank.buckets for rank in record.ranks.values()]),
        median(slowdowns),
    )


def _halves(times: LaunchTimes) -> tuple[Floats, Floats]:
    before = 0.0 * times.exposed[:, 1:]
    backward = before.copy()
    for name, ms in times.parts.items():
        if name in BEHIND:
            before += ms[:, :-1]
        elif name in BACKWARD:
            backward += ms[:, 1:]
        else:
            before += ms[:, 1:]
    return before, backward


def measured_all_reduces(rows: Rows) -> list[AllReduce]:
    """The all-reduces that benchmarks of the same runs measured."""
    found = []
    for row in rows:
        for payload in row.tables.get("comm", ()):
            match payload:
                case {
                    "op": "all_reduce",
                    "among": "all",
                    "ranks": int() as ranks,
                    "bytes": int() as size,
                    "time_us": int() | float() as time,
                } if time > 0:
                    found.append((ranks, float(size), time / 1e3))
    return found
