"""How benchmarks and devices changed over runs."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ...errors import RunDirError, shown_names
from ...results.read_run import read_run
from ..order import selected
from ..pooling import Difference, differences_of
from .change_points import Step
from .noise import FEWEST
from .run_points import RunPoint, run_point
from .tracks import Track, last_unit, tracks_of

ALPHA = 0.05  # the probability of a false alarm about any benchmark or device, ever
THRESHOLD = 0.01  # the smallest change that is told
CHANGE, DRIFT, BACK = "change", "drift", "back"  # kinds of changes
TITLES = {"slower": "Slower", "faster": "Faster", BACK: "Levels seen more than once, no changes"}
RULE = (
    f"looked at after each run, at most {ALPHA:.0%} of histories ever have a false alarm, if runs "
    "vary around one level; a state that lasts, such as a busy week or the second of two levels, "
    "is a change until it comes again"
)


class Change(Struct, frozen=True):
    """That a benchmark, or a device against its peers, is slower or faster than before."""

    track: Track
    before: int  # the last run before it; of a drift, the first of all
    run: int  # the first run after it; of a drift, the last of all
    old: float  # the rate before it, or the ratio to the peers, which is 1 in the first runs
    new: float
    low: float  # the 95 % interval of ``ratio``
    high: float
    kind: str = CHANGE
    differs: tuple[str, ...] = ()  # what the runs ``before`` and ``run`` differ in

    @property
    def ratio(self) -> float:
        return self.new / self.old

    @property
    def way(self) -> str:
        if self.kind == BACK:
            return BACK
        return "slower" if self.new < self.old else "faster"


class History(Struct, frozen=True):
    """Runs in the order of time, and how benchmarks and devices changed in them."""

    runs: tuple[RunPoint, ...]
    tracks: tuple[Track, ...]
    changes: tuple[Change, ...]  # those for the worse first, of these the ones of devices
    threshold: float = THRESHOLD  # the smallest change that is told, as a fraction
    notes: tuple[str, ...] = ()

    def rates(self, track: Track) -> list[float]:
        return [self.runs[index].benchmarks[track.benchmark].rate for index in track.runs]

    @property
    def told_notes(self) -> tuple[str, ...]:
        return (*self.notes, f"changes below {self.threshold:.1%} are not told; {RULE}")


def history_of(
    paths: Sequence[Path], select: Sequence[str] = (), threshold: float = THRESHOLD
) -> History:
    """Read runs and find what changed.

    Args:
        paths: the run folders, in any order.
        select: names or globs of the benchmarks; empty: all.
        threshold: the smallest change that is told, as a fraction of the rate.

    Raises:
        RunDirError: a path is not a run folder, or two are copies of one run.
        SelectionError: no benchmark has a name of ``select``.
    """
    distinct = {path.resolve(): path for path in paths}
    runs = sorted(map(run_point, distinct.values()), key=lambda run: str(run.path))
    runs.sort(key=lambda run: math.inf if run.started is None else run.started)
    _check_distinct(runs)
    measured = dict.fromkeys(name for run in runs for name in run.benchmarks)
    names = selected(list(measured), select)
    tracks = tracks_of(runs, names, ALPHA)
    changes = [change for track in tracks for change in changes_in(track, threshold)]

    @cache
    def differing(before: int, after: int) -> Sequence[Difference]:
        return differences_of([read_run(runs[number].path) for number in (before, after)])

    changes = [replace(each, differs=tuple(_differs(each, runs, differing))) for each in changes]
    changes.sort(key=lambda each: ([*TITLES].index(each.way), each.track.device is None))
    notes = tuple(_notes(runs, tracks, names))
    return History(tuple(runs), tracks, tuple(changes), threshold, notes)


def _check_distinct(runs: Sequence[RunPoint]) -> None:
    for first, second in pairwise(runs):
        same = (first.started, first.benchmarks) == (second.started, second.benchmarks)
        if same and first.started is not None and first.benchmarks:
            raise RunDirError(f"{second.path} is a copy of {first.path}: name one")


def changes_in(track: Track, threshold: float) -> Iterator[Change]:
    """The changes of a track that are large enough, and what the others add up to."""
    found, explained = [], 0.0
    for step in track.changes.steps:
        if _is_large(step, threshold):
            visits = track.changes.visits(step.at, threshold)
            kind = CHANGE if visits == 1 else BACK
            found.append(_change(track, step, step.at - 1, step.at, kind))
            explained += step.size
    whole = track.changes.whole
    rest = replace(whole, before=whole.before + explained)
    if _is_large(rest, threshold):
        found.append(_change(track, rest, 0, len(track.runs) - 1, DRIFT))
    for change in found:
        # of two devices the other one is the faster for it
        if change.way != "faster" or track.peers != 1:
            yield change


def _is_large(step: Step, threshold: float) -> bool:
    return abs(math.expm1(step.size)) >= threshold and abs(step.size) > step.error


def _change(track: Track, step: Step, before: int, after: int, kind: str) -> Change:
    first = 0.0 if track.device is None else track.changes.segments[0].begins
    return Change(
        track,
        track.runs[before],
        track.runs[after],
        old=math.exp(step.before - first),
        new=math.exp(step.after - first),
        low=math.exp(step.size - step.error),
        high=math.exp(step.size + step.error),
        kind=kind,
    )


def _differs(
    change: Change,
    runs: Sequence[RunPoint],
    differing: Callable[[int, int], Sequence[Difference]],
) -> Iterator[str]:
    before, after = runs[change.before], runs[change.run]
    name, device = change.track.benchmark, change.track.device
    if device is not None:
        old, new = (run.benchmarks[name].devices[device.key].facts for run in (before, after))
        for fact in dict.fromkeys((*old, *new)):
            if old.get(fact) != new.get(fact):
                yield f"{fact}: {old.get(fact, '-')} -> {new.get(fact, '-')}"
        return
    others = {f"{other}." for run in runs for other in run.benchmarks if other != name}
    for difference in differing(change.before, change.run):
        if difference.field.startswith(f"{name}.") or not difference.field.startswith((*others,)):
            values = {path: value for value, paths in difference.runs.items() for path in paths}
            yield f"{difference.field}: {values[str(before.path)]} -> {values[str(after.path)]}"


def _notes(
    runs: Sequence[RunPoint], tracks: Sequence[Track], names: Sequence[str]
) -> Iterator[str]:
    untimed = [run.name for run in runs if run.started is None]
    if untimed:
        yield f"did not record when they began, and come last: {shown_names(untimed)}"
    for name in names:
        missing = [run for run in runs if name in run.without_rate]
        if missing:
            last = missing[-1]
            yield (
                f"{name} has no rate in {len(missing)} of {len(runs)} runs, the last of them "
                f"{last.name}: {last.without_rate[name]}"
            )
        unit = last_unit(runs, name)
        other = Counter(run.benchmarks[name].unit for run in runs if name in run.benchmarks)
        del other[unit]
        if other:
            others = shown_names(list(other))
            yield f"{name} is in {unit}: runs in {others} are left out ({other.total()})"
    never = dict.fromkeys(name for run in runs for name in run.without_rate if name not in names)
    if never:
        yield f"never measured: {shown_names(list(never))}"
    short = [track.benchmark for track in tracks if not track.device and len(track.runs) < FEWEST]
    if short:
        yield f"of fewer than {FEWEST} runs, nothing is told: {shown_names(short)}"
