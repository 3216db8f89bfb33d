"""The series of a history: each benchmark over runs, and each device in it against its peers."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, np
from .change_points import Changes, changes_of
from .noise import family_of
from .run_points import RunPoint, TrackedDevice

ROUNDS = 4  # of estimating levels and waves in turn; they hardly change after the second


class Track(Struct, frozen=True):
    """A benchmark over runs, or a device in a benchmark against its peers."""

    benchmark: str
    unit: str
    device: TrackedDevice | None
    peers: int  # how many other devices of its kind there are in all runs
    runs: tuple[int, ...]  # those that have a value, in the order of time
    logs: Floats  # of the rates, or of those of a device less what its peers did
    changes: Changes = Changes()

    @property
    def ratios(self) -> list[float]:
        first = self.changes.segments[0].begins
        return [math.exp(log - first) for log in self.logs.tolist()]


def tracks_of(runs: Sequence[RunPoint], names: Sequence[str], alpha: float) -> tuple[Track, ...]:
    """The tracks of benchmarks, and those of their devices.

    Args:
        runs: in the order of time.
        names: the benchmarks; of each, the runs that have the unit of the last one.
        alpha: the probability of a false alarm, half for each of the two families.
    """
    benchmarks: list[Track] = []
    devices: list[Track] = []
    for name in names:
        unit = last_unit(runs, name)
        having = []
        for index, run in enumerate(runs):
            if name in run.benchmarks and run.benchmarks[name].unit == unit:
                having.append(index)
        benchmarks.append(_of_benchmark(runs, name, having))
        devices += _of_devices(runs, name, having)
    return *_judged(benchmarks, alpha / 2), *_judged(devices, alpha / 2)


def last_unit(runs: Sequence[RunPoint], name: str) -> str:
    return [run.benchmarks[name].unit for run in runs if name in run.benchmarks][-1]


def _of_benchmark(runs: Sequence[RunPoint], name: str, having: Sequence[int]) -> Track:
    points = [runs[index].benchmarks[name] for index in having]
    logs = np.log([point.rate for point in points])
    return Track(name, points[-1].unit, None, 0, tuple(having), logs)


def _of_devices(runs: Sequence[RunPoint], name: str, having: Sequence[int]) -> Iterator[Track]:
    points = [runs[index].benchmarks[name] for index in having]
    kinds: dict[str, dict[str, TrackedDevice]] = defaultdict(dict)
    for point in points:
        for key, found in point.devices.items():
            kinds[found.kind][key] = found.device  # where it was last
    for kind, devices in kinds.items():
        logs = np.full((len(points), len(devices)), np.nan)
        for row, point in enumerate(points):
            for column, key in enumerate(devices):
                if key in point.devices and point.devices[key].kind == kind:
                    logs[row, column] = math.log(point.devices[key].speed)
        relative = against_peers(logs)
        for column, device in enumerate(devices.values()):
            known = np.flatnonzero(~np.isnan(relative[:, column])).tolist()
            if known:
                at = tuple(having[row] for row in known)
                values = relative[known, column]
                yield Track(name, points[-1].unit, device, len(devices) - 1, at, values)


def _judged(tracks: Sequence[Track], alpha: float) -> list[Track]:
    family = family_of([track.logs for track in tracks], alpha)
    return [replace(track, changes=changes_of(track.logs, family)) for track in tracks]


def against_peers(logs: Floats) -> Floats:
    """The logarithms of rates, less what the peers of each device did in the same run.

    Devices differ for good, and a run may be on other devices than the one before. So a run is
    described by how much its devices differ from their own levels: a device is compared with the
    median of this over its peers (J. W. Tukey's median polish, with the device itself left out).

    Args:
        logs: shape (runs, devices); NaN where a device took no part in a run.

    Returns:
        the same shape; NaN also where a device had no peer.
    """
    levels = _median(logs)
    relative = logs
    for _ in range(ROUNDS):
        moved = logs - levels
        relative = logs - np.array([_medians_of_others(row) for row in moved])
        levels = _median(relative)
    return relative


def _median(values: Floats) -> Floats:
    found = np.full(values.shape[1], np.nan)
    is_known = ~np.isnan(values).all(axis=0)
    found[is_known] = np.nanmedian(values[:, is_known], axis=0)
    return found


def _medians_of_others(values: Floats) -> Floats:
    """For each value the median of the others that are known; NaN without any.

    Args:
        values: shape (n,).
    """
    found = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    count = len(known)
    if count < 2:
        return found
    order = known[np.argsort(values[known], kind="stable")]
    ordered = values[order]
    place = np.arange(count)
    # of the others, in ascending order, the ones in the middle: those from its own place on move up
    low, high = (count - 2) // 2, (count - 1) // 2
    found[order] = (ordered[low + (place <= low)] + ordered[high + (place <= high)]) / 2
    return found
