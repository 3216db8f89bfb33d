"""How fast lines of programs come to the disk, and how soon: of metrics, and of standard output."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from ..figure import Figure, Goal
from ..paired import FailedRunError, in_turn, run, seconds
from ..room import Room
from ..suites import Suite, python

WRITERS = 8
DISTINCT = 8000  # lines that differ
GOAL = Goal(650_000, at_least=True, of_measured=True)
SUFFIXES = {"metrics": "data", "stdout": "stdout"}


def throughput(room: Room, kind: str) -> Iterator[Figure]:
    """Lines a second from the first write until all are in the files, all of it on one core."""
    writers = room.pick(2, WRITERS, WRITERS)
    prepared = room.folder / "lines"
    distinct = room.pick(100, DISTINCT, DISTINCT)
    prepare(prepared, distinct)
    times = room.pick(1, 5, 15)
    work = _Work(room.folder, kind, prepared, distinct * times * writers, times, writers)
    cores = sorted(os.sched_getaffinity(0))
    rounds = room.pick(1, 3, 5)
    sides = {"ours": partial(work.ours, cores[0]), "bare": partial(work.bare, cores[0])}
    if kind == "metrics" and find_spec("voir") and room.pick(False, True, True):
        sides["voir"] = partial(work.voir, cores[0])
    found = in_turn(rounds, sides)
    floor = found["bare"], "a multiplexer that looks at no line"
    said = f"lines a second of {kind} to disk, {writers} writers"
    yield Figure(f"{said}, one core", "/s", found["ours"], *floor, goal=GOAL)
    if "voir" in found:
        yield Figure("voir's multiplexer alone, one core", "/s", found["voir"], *floor)
    if len(cores) > 1 and room.pick(False, True, True):
        free = in_turn(rounds, {"ours": work.ours, "bare": work.bare}, warm=False)
        yield Figure(f"{said}, all cores", "/s", free["ours"], free["bare"], floor[1])


def metrics(room: Room) -> Iterator[Figure]:
    """Metric lines: how many a second, and how soon one is in the file."""
    yield from throughput(room, "metrics")
    yield from latency(room, "metrics")


def stdout(room: Room) -> Iterator[Figure]:
    """Lines of standard output: how many a second, and how soon one is in the file."""
    yield from throughput(room, "stdout")
    yield from latency(room, "stdout")


class _Work:
    """So many lines of so many writers, through a run or through a bare multiplexer."""

    def __init__(
        self, folder: Path, kind: str, prepared: Path, lines: int, times: int, writers: int
    ) -> None:
        self._folder, self._kind, self._lines, self._writers = folder, kind, lines, writers
        self._stamps = folder / "stamps"
        self._argv = [kind, str(prepared), str(times), str(self._stamps)]
        self._suite = Suite(folder, "writer.py", self._argv, writers, options=["--gpu-poll", "0"])

    def ours(self, core: int | None = None) -> float:
        """Lines a second of a run, all of which are in its files."""
        self._clear()
        ran = self._suite.run(core=core)
        files = sorted(ran.folder.glob(f"*.{SUFFIXES[self._kind]}"))
        rate = self._rate(files)
        ran.remove()
        return rate

    def bare(self, core: int | None = None) -> float:
        """Lines a second of the bare multiplexer."""
        self._clear()
        out = self._folder / "bare"
        out.mkdir(exist_ok=True)
        seconds(python("bare_multiplexer.py", self._writers, out, *self._program()), core)
        files = sorted(out.glob(f"*.{SUFFIXES[self._kind]}"))
        rate = self._rate(files)
        for path in out.iterdir():
            path.unlink()
        return rate

    def voir(self, core: int | None = None) -> float:
        """Lines a second of voir's multiplexer, until it ends; it writes nothing."""
        self._clear()
        end = self._folder / "end"
        argv = [self._writers, end, *self._program()]
        done = run(python("voir_multiplexer.py", *argv), core)
        if done.returncode:
            raise FailedRunError(done.said)
        return self._lines / (end.stat().st_mtime - self._begin())

    def _program(self) -> Sequence[str]:
        return python("writer.py", *self._argv)

    def _clear(self) -> None:
        self._stamps.mkdir(exist_ok=True)
        for path in self._stamps.iterdir():
            path.unlink()

    def _begin(self) -> float:
        return min(float(path.read_text()) for path in self._stamps.iterdir())

    def _rate(self, files: Sequence[Path]) -> float:
        end = max(path.stat().st_mtime for path in files)
        written = sum(count_lines(path) for path in files)
        if written < self._lines:
            raise FailedRunError(f"{written} of {self._lines} lines are in {files[0].parent}")
        return self._lines / (end - self._begin())


def latency(room: Room, kind: str) -> Iterator[Figure]:
    """From a write until the line is in the file: median and 99th percentile of a run."""
    count = room.pick(3, 100, 250)
    told, suffix = room.folder / f"told-{kind}", SUFFIXES[kind]
    options = ["--gpu-poll", "0"]
    found: dict[str, list[list[float]]] = {"ours": [], "bare": []}
    out = room.folder / f"echo-{kind}"
    out.mkdir()

    def ours() -> float:
        base = room.folder / f"latency-{kind}"
        folder = base / "runs" / f"run-{len(found['ours'])}"
        argv = [kind, str(count), str(folder), f".{suffix}", str(told)]
        Suite(base, "echo.py", argv, options=options).run(folder)
        found["ours"].append(json.loads(told.read_text()))
        return 0.0

    def bare() -> float:
        program = python("echo.py", kind, count, out, f".{suffix}", told)
        seconds(python("bare_multiplexer.py", 1, out, *program))
        found["bare"].append(json.loads(told.read_text()))
        return 0.0

    in_turn(room.pick(1, 3, 5), {"ours": ours, "bare": bare}, warm=False)
    for name, share in (("median", 0.5), ("99th percentile", 0.99)):
        mine, floor = (tuple(_quantile(one, share) for one in each) for each in found.values())
        yield Figure(
            f"from the write of a line of {kind} to disk, {name}",
            "us",
            mine,
            floor,
            "a multiplexer that looks at no line",
            relation="difference",
        )


def _quantile(took: Sequence[float], share: float) -> float:
    if share == 0.5:
        return median(took) * 1e6
    return sorted(took)[min(int(len(took) * share), len(took) - 1)] * 1e6


def prepare(path: Path, count: int) -> None:
    """Write metric lines as our programs do, a rate and a loss in turn; no two are alike."""
    draw, now, lines = random.Random(1), 610.0, []
    for step in range(count // 2):
        rate = draw.gauss(1e6, 1e4)
        now += 1e5 / rate
        clock = {"time": round(now, 6), "elapsed": round(now - 610, 6), "step": step, "steps": 1}
        told = {"task": "train", "rank": 0, "rate": rate, "units": "items/s", **clock}
        loss = {"task": "train", "rank": 0, "loss": 2.5 + draw.random(), "step": step}
        lines += [json.dumps(told, separators=(",", ":")), json.dumps(loss, separators=(",", ":"))]
    path.write_text("".join(f"{line}\n" for line in lines))


def count_lines(path: Path) -> int:
    """How many lines a file has."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 1 << 20), b""))
