"""How exactly a deadline is kept, and how soon the processes that a program leaves are gone."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..figure import Figure, with_growth
from ..paired import FailedRunError, in_turn, run, seconds
from ..room import Room
from ..suites import Suite, python

LIMIT, GRACE = 1.0, 0.5  # seconds


def deadline(room: Room) -> Iterator[Figure]:
    """From the deadline to SIGTERM, and from the end of the grace period to the end."""
    rounds, writers = room.pick(1, 2, 5), room.pick(2, 8, 8)
    cases = {
        "SIGTERM after the deadline": partial(_Case, "heeds", 1),
        "end of a deaf program after deadline and grace": partial(_Case, "deaf", 1),
        f"SIGTERM after the deadline, {writers} programs that write": partial(
            _Case, "floods", writers
        ),
    }
    for name, make in list(cases.items())[: room.pick(1, 3, 3)]:
        case = make(room.folder / name.replace(" ", "-"))
        found = in_turn(rounds, {"ours": case.ours, "bare": case.bare}, warm=False)
        floor = "a parent that waits for it with select"
        yield Figure(name, "ms", found["ours"], found["bare"], floor, relation="difference")


class _Case:
    """Programs that run until they are ended, under a deadline."""

    def __init__(self, kind: str, devices: int, folder: Path) -> None:
        self._kind, self._stamps = kind, folder / "stamps"
        self._stamps.mkdir(parents=True)
        self._argv = [str(self._stamps), kind]
        self._suite = Suite(
            folder, "deadline.py", self._argv, devices, LIMIT, outcome="timeout",
            options=["--grace", str(GRACE)],
        )  # fmt: skip

    def ours(self) -> float:
        """Milliseconds from when it was due, of the last process; counted from the launch."""
        self._clear()
        ran = self._suite.run()
        processes = ran.processes()
        if self._kind == "deaf":
            late = max(each["ended"] - each["started"] for each in processes) - LIMIT - GRACE
        else:
            late = max(self._stamp(each["pid"]) - each["started"] for each in processes) - LIMIT
        ran.remove()
        return float(late * 1e3)

    def bare(self) -> float:
        """The same of one process of a parent that does nothing else."""
        self._clear()
        due = LIMIT + GRACE if self._kind == "deaf" else LIMIT
        signal = "SIGKILL" if self._kind == "deaf" else "SIGTERM"
        program = python("deadline.py", *self._argv)
        parent = python("bare_parent.py", due, signal, self._stamps / "told", *program)
        seconds(parent)
        started, ended = map(float, (self._stamps / "told").read_text().split())
        if self._kind != "deaf":
            (ended,) = (
                float(path.read_text()) for path in self._stamps.iterdir() if path.name.isdigit()
            )
        return (ended - started - due) * 1e3

    def _stamp(self, pid: int) -> float:
        return float((self._stamps / str(pid)).read_text())

    def _clear(self) -> None:
        for path in self._stamps.iterdir():
            path.unlink()


def reaping(room: Room) -> Iterator[Figure]:
    """From the end of a program to the end of all that it left."""
    sizes = room.pick([3], [10, 100, 1000], [10, 100, 1000])
    figures = []
    for size in sizes:
        stamp = room.folder / f"stamp-{size}"
        suite = Suite(room.folder / str(size), "forks.py", [str(size), str(stamp)])
        sides = {"ours": partial(_ours, suite, stamp), "bare": partial(_bare, size, stamp)}
        found = in_turn(room.pick(1, 3, 9), sides, warm=False)
        figures.append(
            Figure(
                f"end of {size} processes that a program left",
                "ms",
                found["ours"],
                found["bare"],
                "a parent that knows their pids",
                relation="difference",
            )
        )
    yield from with_growth(figures, sizes)


def _ours(suite: Suite, stamp: Path) -> float:
    ran = suite.run()
    (process,) = ran.processes()
    told = json.loads(stamp.read_text())
    if left := [pid for pid in told["left"] if Path(f"/proc/{pid}").exists()]:
        raise FailedRunError(f"{len(left)} processes are left")
    ran.remove()
    return float(process["ended"] - told["ended"]) * 1e3


def _bare(size: int, stamp: Path) -> float:
    done = run(python("bare_reaper.py", stamp, *python("forks.py", size, stamp)))
    return float(done.said) * 1e3
