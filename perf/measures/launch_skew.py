"""How far apart the processes of a launch start their programs."""

from collections.abc import Iterator
from functools import partial

from ..figure import Figure, Goal, with_growth
from ..paired import in_turn, run
from ..room import Room
from ..suites import Suite, python

GOALS = {8: Goal(50.0, of_measured=True)}


def measure(room: Room) -> Iterator[Figure]:
    """The milliseconds between the first and the last start."""
    sizes = room.pick([2], [8, 64], [8, 64])
    figures = []
    for size in sizes:
        suite = Suite(room.folder / str(size), "sleeper.py", ["0.1"], devices=size)
        sides = {"ours": partial(_skew, suite), "bare": partial(_bare, size)}
        found = in_turn(room.pick(1, 3, 8), sides, warm=False)
        figures.append(
            Figure(
                f"launch skew of {size} processes",
                "ms",
                found["ours"],
                found["bare"],
                "forked processes start it at one moment",
                relation="difference",
                goal=GOALS.get(size),
            )
        )
    yield from with_growth(figures, sizes)


def _skew(suite: Suite) -> float:
    ran = suite.run()
    (launch,) = ran.state()["launches"]
    started = [process["started"] for process in launch["processes"]]
    return float(max(started) - min(started)) * 1e3


def _bare(size: int) -> float:
    program = python("sleeper.py", 0.1)
    return float(run(python("bare_start.py", size, *program)).said)
