"""What measuring a step costs in the programs' loop, over a loop that reads a clock twice."""

from collections.abc import Iterator
from functools import partial

from ..figure import Figure, Goal
from ..paired import in_turn
from ..room import Room


def measure(room: Room) -> Iterator[Figure]:
    """Nanoseconds of an empty step, and the steps a second of steps of 1 ms, over bare loops."""
    from .. import timing_cost  # imports torch

    count, rounds = room.pick(50, 5000, 5000), room.pick(1, 25, 60)

    def empty(loop: timing_cost.Loop, count: int = count) -> float:
        bare = timing_cost.per_step(timing_cost.bare, count, timing_cost.nothing)
        return timing_cost.per_step(loop, count, timing_cost.nothing) - bare

    loops = dict(timing_cost.TIMED)
    sides = {"pair": partial(empty, timing_cost.clock_pair)}
    for name, loop in loops.items():
        sides[name] = partial(empty, loop)
    if room.pick(False, True, True):
        sides["voir.iterate"] = partial(empty, timing_cost.voir_iterate, count // 20)
    found = in_turn(rounds, sides)
    pair = found.pop("pair")
    for name, taken in found.items():
        yield Figure(
            f"an empty step over that of a bare loop: {name}",
            "ns",
            taken,
            pair,
            "a pair of perf_counter_ns, kept",
            goal=Goal(1000.0, of_measured=True) if name == "common" else None,
        )
    yield from _of_a_millisecond(room)


def _of_a_millisecond(room: Room) -> Iterator[Figure]:
    from .. import timing_cost

    count, rounds = room.pick(2, 200, 500), room.pick(1, 5, 12)

    def rate(loop: timing_cost.Loop) -> float:
        return 1e9 / timing_cost.per_step(loop, count, timing_cost.spin)

    for name, loop in timing_cost.TIMED:
        sides = {"ours": partial(rate, loop), "bare": partial(rate, timing_cost.bare)}
        found = in_turn(rounds, sides)
        yield Figure(
            f"steps of 1 ms: {name}",
            "/s",
            found["ours"],
            found["bare"],
            "a bare loop",
            goal=Goal(0.995, at_least=True),
        )
