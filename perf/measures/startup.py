"""How fast each command answers, over ``python -c pass``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from milabench_ddp.options.command_table import COMMANDS

from ..figure import Figure, Goal
from ..paired import MILABENCH, in_turn, seconds
from ..room import Room

BARE = [sys.executable, "-c", "pass"]
RUN = "tests/recorded/first"
DRY = ["dry", "config/ddp.yaml", "--nodes", "8", "--gpus", "8"]
GOALS = {"--help": Goal(1.5), " ".join(DRY): Goal(5.0)}


def measure(room: Room) -> Iterator[Figure]:
    """Every command: its help, and the least that it does, where that changes nothing."""
    commands: list[Sequence[str]] = [["--help"], DRY]
    if room.pick(False, True, True):
        commands += [[verb, "--help"] for verb in COMMANDS]
        commands += _least(room)
    rounds = room.pick(1, 5, 15)
    sides = {"": partial(_milliseconds, BARE)}
    for words in commands:
        sides[_shown(words, room)] = partial(_milliseconds, [*MILABENCH, *words])
    yield from _figures(in_turn(rounds, sides))


def _least(room: Room) -> Iterator[Sequence[str]]:
    """The commands that only read, each on little."""
    for verb in ("list", "resolve", "dry"):
        yield [verb, "config/ddp.yaml", "--device", "cpu", "--gpus", "1"]
    for verb in ("report", "watch", "history"):
        yield [verb, RUN]
    yield ["compare", RUN, RUN]
    yield ["export", RUN, "--to", "csv", str(room.folder / "exported")]


def _shown(words: Sequence[str], room: Room) -> str:
    return " ".join(words).replace(f"{room.folder}/", "")


def _milliseconds(command: Sequence[str]) -> float:
    return seconds(command) * 1e3


def _figures(found: Mapping[str, tuple[float, ...]]) -> Iterator[Figure]:
    bare = found[""]
    for shown, taken in found.items():
        if shown:
            name = f"milabench {shown}"
            yield Figure(name, "ms", taken, bare, "python -c pass", goal=GOALS.get(shown))
