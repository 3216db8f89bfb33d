"""One node under load for long: the memory and the descriptors of the harness do not grow."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from ..figure import Figure, Goal, with_growth
from ..paired import REPOSITORY, FailedRunError, environment, seconds
from ..room import Room
from ..suites import Suite, python
from .lines import count_lines, prepare

RATE = 100  # lines a second of a process
DISTINCT = 1000
FLAT = Goal(1.05)


@dataclass(frozen=True)
class _Seen:
    """The harness at a moment of a run."""

    done: float  # which part of the run
    mib: float
    descriptors: int


def lines(room: Room) -> Iterator[Figure]:
    """64 processes that write as many lines as 100 a second are in an hour, as fast as they go."""
    processes = room.pick(2, 64, 64)
    each = RATE * room.pick(1, 240, 3600)
    prepared, stamps = room.folder / "lines", room.folder / "stamps"
    prepare(prepared, room.pick(RATE, DISTINCT, DISTINCT))
    stamps.mkdir()
    times = each // room.pick(RATE, DISTINCT, DISTINCT)
    argv = ["metrics", str(prepared), str(times), str(stamps)]
    suite = Suite(room.folder, "writer.py", argv, processes, options=["--quiet"])
    folder = suite.next_folder()
    size = prepared.stat().st_size * times * processes * 1.2  # the files add to each line

    def done() -> float:
        return min(sum(path.stat().st_size for path in folder.glob("*.data")) / size, 1.0)

    def is_measured() -> bool:
        state = folder / "b" / "state.json"
        return state.exists() and '"ended":null' in state.read_text().replace(" ", "")

    seen = _watched(suite.command(folder.name), done, is_measured)
    written = sum(map(count_lines, folder.glob("*.data")))
    if written < each * processes:
        raise FailedRunError(f"{written} of {each * processes} lines are in {folder}")
    yield from _flat(f"{processes} processes, {each * processes:,} lines", seen)


def suites(room: Room) -> Iterator[Figure]:
    """A suite of many trivial benchmarks: seconds of each over those of its program."""
    sizes = room.pick([1], [3, 30], [30, 300])
    figures = []
    for size in sizes:
        names = [f"b{number:03}" for number in range(size)]
        suite = Suite(room.folder / str(size), "sleeper.py", names=names, options=["--quiet"])
        ours = suite.run().seconds / size
        bare = seconds(python("sleeper.py"))
        figures.append(
            Figure(
                f"a suite of {size} trivial benchmarks, each",
                "s",
                (ours,),
                (bare,),
                "the program alone",
                relation="difference",
            )
        )
    yield from with_growth(figures, sizes)
    folder = suite.next_folder()

    def done() -> float:
        return len(list(folder.glob("*/state.json"))) / sizes[-1]

    seen = _watched(suite.command(folder.name), done, lambda: done() < 1.0)
    yield from _flat(f"{sizes[-1]} benchmarks", seen)


def _watched(
    command: Sequence[str], done: Callable[[], float], is_measured: Callable[[], bool]
) -> list[_Seen]:
    """The harness at many moments of a run, until it makes its report."""
    seen = []
    with subprocess.Popen(
        command, env=environment(), cwd=REPOSITORY,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as run:  # fmt: skip
        harness = psutil.Process(run.pid)
        while run.poll() is None:
            with suppress(psutil.Error, OSError):
                if is_measured():
                    mib = harness.memory_info().rss / 2**20
                    seen.append(_Seen(done(), mib, harness.num_fds()))
            time.sleep(0.02)
    if run.returncode:
        raise FailedRunError(f"{' '.join(command)}: exit status {run.returncode}")
    return seen


def _flat(what: str, seen: Sequence[_Seen]) -> Iterator[Figure]:
    """The memory and the descriptors of the last quarter of a run over those of the second.

    Of each quarter it is the least: what leaks stays, and lines that wait for the disk do not.
    """
    early = [each for each in seen if 0.25 <= each.done < 0.5]
    late = [each for each in seen if each.done >= 0.75]
    if not early or not late:  # too short to see anything
        return
    floor = "its second quarter"
    for name, unit, values in (
        ("memory", "MiB", [[each.mib for each in part] for part in (late, early)]),
        ("descriptors", "", [[each.descriptors for each in part] for part in (late, early)]),
    ):
        after, before = (float(min(part)) for part in values)
        yield Figure(
            f"{what}: {name} in the last quarter", unit, (after,), (before,), floor, goal=FLAT
        )
