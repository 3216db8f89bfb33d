"""The tables of a report beside the main one, by the names under which they can be asked for."""

from collections.abc import Callable, Mapping, Sequence

from .communication import communication, curve
from .model import Row
from .ranks import every_rank, ranks
from .section import Section
from .steps import steps
from .sweeps import sweeps

Make = Callable[[Sequence[Row]], Section]

IN_THE_TEXT: tuple[Make, ...] = (steps, ranks, communication, sweeps)
BY_NAME: Mapping[str, Make] = {
    "steps": steps,
    "ranks": every_rank,
    "communication": communication,
    "curve": curve,
    "sweeps": sweeps,
}
